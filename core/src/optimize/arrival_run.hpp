// Runs walks under a cost model, rows added to in the order in which tasks arrive: what a placement and its q
// orders are worth when nobody waits for an order made beforehand. The orders of arrival then are the reduce
// orders of the schedule; they follow time, so they cannot deadlock.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "../add_history.hpp"
#include "../tick_costs.hpp"
#include "walks.hpp"

namespace dashlab {

class ArrivalRun {
 public:
  /// Jitter in the costs is left out of account.
  ArrivalRun(const Problem& problem, const TileMap& tiles, GroupMode group_mode, const Costs& costs);

  /// The makespan in ticks, as simulate() finds it for the resulting schedule.
  std::int64_t operator()(const Walks& walks);

  /// The ticks that a walk keeps an SM busy when nobody is in its way (overlapped: its compute phases).
  [[nodiscard]] std::int64_t work(const Walk& walk) const;

  /// What follows the last compute phase of an SM, in ticks (overlapped: its add).
  [[nodiscard]] std::int64_t last_add() const noexcept { return depth_ == 0 ? 0 : ticks_.reduce; }
  /// The cost of a chain as a number of whole tasks, rounded.
  [[nodiscard]] std::uint32_t lead_in_tasks() const noexcept;

  /// Of the last run: when each SM ended, in ticks.
  [[nodiscard]] const std::vector<std::int64_t>& sm_end() const noexcept { return sm_end_; }
  /// Of the last run: the time that SMs spent waiting for a row, in ticks, over all SMs.
  [[nodiscard]] std::int64_t wait() const noexcept { return wait_; }
  [[nodiscard]] std::int64_t ticks_per_unit() const noexcept { return ticks_.per_unit; }
  /// Of the last run.
  [[nodiscard]] ReduceOrders orders() const;

 private:
  struct Engine {
    explicit Engine(int depth) : adds(depth) {}
    std::size_t walk = 0;
    std::size_t step = 0;
    std::int64_t compute_end = 0;
    std::int64_t add_end = 0;
    AddHistory adds;
  };
  struct Row {
    std::int64_t end = 0;
    std::uint32_t sm = 0;
  };

  void announce(const Walks& walks, std::uint32_t sm);
  void add_to_row(const Walk& walk, std::uint32_t sm);
  void add_to_group(const Walk& walk, std::uint32_t sm);
  [[nodiscard]] std::int64_t compute_ticks(const Walk& walk, std::size_t step) const;
  [[nodiscard]] std::size_t group_row(const Walk& walk) const;

  const Problem& problem_;
  const TileMap& tiles_;
  TickCosts ticks_;
  int depth_;
  bool grouped_;
  std::size_t group_;

  std::vector<std::uint64_t> row_begin_;
  std::vector<std::uint64_t> row_next_;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> reduce_kv_;
  std::vector<std::uint32_t> group_next_;
  std::vector<std::int64_t> group_end_;
  std::vector<std::uint32_t> group_order_;
  std::vector<Engine> engines_;
  std::vector<std::int64_t> sm_end_;
  std::int64_t wait_ = 0;
  std::vector<std::pair<std::int64_t, std::uint32_t>> waiting_;  // a heap: who can add, and from when
};

}  // namespace dashlab
