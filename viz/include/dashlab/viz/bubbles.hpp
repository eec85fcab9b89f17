// Where the SMs' time went, by cause: the figures under every picture.
#pragma once

#include <cstdint>
#include <vector>

#include "dashlab/core/timeline.hpp"

namespace dashlab::viz {

/// SM time of a whole run in ticks, over all SMs; busy + bubbles() = SMs * makespan.
/// Serial runs: busy = compute and reduce. Overlapped runs (a reduce beside a compute on one SM): the compute
/// engine.
struct Bubbles {
  bool overlapped = false;
  std::int64_t busy = 0;
  std::int64_t reduce_wait = 0;  ///< waiting for a rank
  std::int64_t startup = 0;      ///< before an SM's first task
  std::int64_t tail = 0;         ///< after an SM's last task: imbalance
  std::int64_t between = 0;      ///< between two tasks, not for a rank (launch gaps of measured runs)
  std::uint32_t idle_sms = 0;    ///< SMs without any task; their time counts as tail

  /// All SM time that was not busy.
  [[nodiscard]] std::int64_t bubbles() const noexcept { return reduce_wait + startup + tail + between; }
  /// bubbles / (SMs * makespan), 0..1; 0 for an empty run.
  [[nodiscard]] double fraction() const noexcept {
    const auto total = busy + bubbles();
    return total == 0 ? 0.0 : static_cast<double>(bubbles()) / static_cast<double>(total);
  }
};

/// Does any reduce run beside a later compute of its own SM?
bool is_overlapped(const Timeline& timeline);

Bubbles measure_bubbles(const Timeline& timeline);

/// Where a task's wait for its rank begins: the end of its compute, or of its SM's previous reduce if that is
/// later. `previous` is the task before it on the same SM, or nullptr.
std::int64_t wait_begin(const TaskSpan& task, const TaskSpan* previous) noexcept;

/// The first task of each SM in Timeline::tasks; size sms + 1. Throws BadInput when tasks are not sorted by
/// SM or name an SM out of range.
std::vector<std::size_t> rows_by_sm(const Timeline& timeline);

}  // namespace dashlab::viz
