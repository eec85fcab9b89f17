// Appends chains and reduce orders to a Schedule: what all schedulers share.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "dashlab/core/schedule.hpp"

namespace dashlab {

/// A chain with its q order, before it is placed.
struct PlannedChain {
  std::uint32_t owner = 0;  ///< q head (per_head) or kv head (gathered)
  std::uint32_t kv = 0;
  std::vector<std::uint32_t> q_order;
};

/// Chains that must run back to back on one SM.
struct Unit {
  std::vector<PlannedChain> chains;
  [[nodiscard]] std::size_t tasks() const noexcept {
    std::size_t sum = 0;
    for (const auto& chain : chains) sum += chain.q_order.size();
    return sum;
  }
};

class ScheduleBuilder {
 public:
  ScheduleBuilder(std::string_view name, const Problem& problem, const TileMap& tiles,
                  const ScheduleOptions& options);

  /// Chains per kv tile: q heads (per_head) or kv heads (gathered).
  [[nodiscard]] std::uint32_t owners() const noexcept { return owners_; }

  /// Appends a chain of pass 1. A gathered chain walks `q_order` once for each q head of its group.
  void add_chain(std::uint32_t owner, std::uint32_t kv, std::span<const std::uint32_t> q_order);
  /// Appends a chain of the second pass: q tile `q` of `head` walks its kv tiles ascending.
  void add_second_pass_chain(std::uint32_t head, std::uint32_t q);
  /// Static placement: the longest unit first, each to the SM with the least work so far (the lowest such
  /// SM).
  void place_statically(std::vector<Unit> units);

  void reduce_ascending();
  void reduce_descending();
  /// Reduce orders as the tasks would arrive if all took the same time: by step on the SM, then by SM. Such
  /// orders never deadlock: a task waits only for tasks of earlier (step, SM), and program order raises the
  /// step.
  void reduce_by_arrival();

  [[nodiscard]] Schedule finish(DqMode mode = DqMode::ordered);

 private:
  [[nodiscard]] std::uint32_t first_head(std::uint32_t owner) const noexcept;
  void start_rows();

  const Problem& problem_;
  const TileMap& tiles_;
  Schedule schedule_;
  std::uint32_t owners_ = 0;
  std::uint32_t heads_per_chain_ = 1;
};

/// The tasks each SM has after placing units of these sizes as place_statically does; the largest is the
/// makespan.
std::vector<std::uint64_t> loads_after_placing(std::vector<std::size_t> unit_tasks, std::uint32_t sms);

}  // namespace dashlab
