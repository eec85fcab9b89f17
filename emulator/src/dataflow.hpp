// Hands the tasks of a schedule to workers in an order that needs no buffers: a task is given out only when
// its chain has come to it and its row waits for exactly its rank. Heads are opened one by one, as late as
// keeps the workers busy.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <queue>
#include <vector>

#include "dashlab/core/problem.hpp"
#include "dashlab/core/schedule.hpp"
#include "dashlab/emulator/parallel.hpp"

namespace dashlab {

/// One task, ready to run to its end.
struct ReadyTask {
  std::uint32_t chain = 0;  ///< index into Schedule::chains
  std::uint64_t step = 0;   ///< index into Schedule::steps
  bool chain_starts = false;
  bool chain_ends = false;
  std::uint32_t head = 0;  ///< q head over the whole batch
  std::uint32_t q = 0;
  std::uint32_t kv = 0;
  bool reduces = false;    ///< adds to the row (head, q), now
  std::uint32_t rank = 0;  ///< place in the row's reduce order
  bool row_ends = false;   ///< it is the last of its row
};

/// Thread-safe. The schedule must outlive it.
class Dataflow {
 public:
  Dataflow(const Problem& problem, const Schedule& schedule, const RunControl& control);

  /// Marks `finished` (if any) as done and returns the next task for this worker, waiting if need be; nothing
  /// when all is done or another worker failed. Throws BadInput when the schedule deadlocks, Interrupted on
  /// stop.
  std::optional<ReadyTask> next(const std::optional<ReadyTask>& finished);

  /// Lets all workers leave; called by a worker whose task threw.
  void abandon();

 private:
  [[nodiscard]] std::uint64_t row_of(std::uint32_t head, std::uint32_t q) const {
    return std::uint64_t{head} * q_tiles_ + q;
  }
  [[nodiscard]] bool ready(std::uint32_t chain) const;
  [[nodiscard]] ReadyTask take(std::uint32_t chain);
  void finish(const ReadyTask& task);
  void offer(std::uint32_t chain);
  void open_unit();

  const Schedule& schedule_;
  const RunControl& control_;
  std::uint32_t q_tiles_ = 0;
  std::uint64_t kv_tiles_ = 0;
  std::uint32_t heads_per_chain_ = 1;  ///< q heads that one chain head stands for

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint32_t> chain_of_tile_;  ///< (chain head, kv tile) -> chain of pass 1
  std::vector<std::uint32_t> position_;       ///< per chain: steps done
  std::vector<std::uint8_t> busy_;            ///< per chain: offered or running
  std::vector<std::uint32_t> row_next_;       ///< per row: ranks done
  std::vector<std::uint32_t> by_unit_;        ///< chains, unit after unit, in launch order within
  std::vector<std::uint64_t> unit_begin_;
  std::vector<std::uint32_t> order_;  ///< per chain: its place in by_unit_
  std::size_t open_units_ = 0;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>
      offers_;  ///< places in by_unit_
  std::uint64_t done_ = 0;
  std::uint64_t running_ = 0;
  bool leave_ = false;
};

}  // namespace dashlab
