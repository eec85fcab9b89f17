// Bubble totals straight from the task times, so that simulated and measured runs are judged alike.
#include "dashlab/viz/bubbles.hpp"

#include <algorithm>
#include <string>

#include "dashlab/core/error.hpp"

namespace dashlab::viz {

std::vector<std::size_t> rows_by_sm(const Timeline& timeline) {
  std::vector<std::size_t> begin(timeline.sms + 1, 0);
  std::uint32_t last = 0;
  for (const TaskSpan& task : timeline.tasks) {
    const std::uint32_t sm = index(task.sm);
    if (sm >= timeline.sms || sm < last)
      throw BadInput("a timeline's tasks must be sorted by SM, all below " + std::to_string(timeline.sms) +
                     "; found SM " + std::to_string(sm));
    last = sm;
    ++begin[sm + 1];
  }
  for (std::size_t sm = 0; sm < timeline.sms; ++sm) begin[sm + 1] += begin[sm];
  return begin;
}

bool is_overlapped(const Timeline& timeline) {
  for (std::size_t i = 1; i < timeline.tasks.size(); ++i) {
    const TaskSpan &before = timeline.tasks[i - 1], &task = timeline.tasks[i];
    if (before.sm == task.sm && task.compute_start < before.reduce_end) return true;
  }
  return false;
}

std::int64_t wait_begin(const TaskSpan& task, const TaskSpan* previous) noexcept {
  return previous == nullptr ? task.compute_end
                             : std::min(task.reduce_start, std::max(task.compute_end, previous->reduce_end));
}

Bubbles measure_bubbles(const Timeline& timeline) {
  Bubbles sum;
  sum.overlapped = is_overlapped(timeline);
  const auto begin = rows_by_sm(timeline);
  for (std::uint32_t sm = 0; sm < timeline.sms; ++sm) {
    if (begin[sm] == begin[sm + 1]) {
      ++sum.idle_sms;
      sum.tail += timeline.makespan;
      continue;
    }
    std::int64_t now = 0;
    for (std::size_t i = begin[sm]; i < begin[sm + 1]; ++i) {
      const TaskSpan& task = timeline.tasks[i];
      const std::int64_t gap = task.compute_start - now;
      if (i == begin[sm]) {
        sum.startup += gap;
      } else if (sum.overlapped) {
        sum.reduce_wait += gap;  // the compute engine stood because a reduce had not freed its buffer
      } else {
        sum.between += gap;
      }
      sum.busy += task.compute_end - task.compute_start;
      if (sum.overlapped) {
        now = task.compute_end;
      } else {
        sum.reduce_wait += task.reduce_start - task.compute_end;
        sum.busy += task.reduce_end - task.reduce_start;
        now = task.reduce_end;
      }
    }
    sum.tail += timeline.makespan - now;
  }
  return sum;
}

}  // namespace dashlab::viz
