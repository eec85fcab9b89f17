#include "critical_path.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

namespace dashlab {
namespace {

auto row_key(const TaskSpan& t) {
  return std::tuple(index(t.head), index(t.q));
}

// Tasks of each row in the order of their adds.
std::vector<std::size_t> by_row(const std::vector<TaskSpan>& tasks) {
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::tuple(row_key(tasks[i]), tasks[i].reduce_start, tasks[i].rank, index(tasks[i].sm));
  });
  return order;
}

class PathWalk {
 public:
  PathWalk(const Timeline& timeline, int overlap_depth)
      : tasks_(timeline.tasks),
        lookback_(static_cast<std::size_t>(overlap_depth) + 1),
        before_in_row_(tasks_.size()) {
    const auto order = by_row(tasks_);
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (row_key(tasks_[order[i]]) == row_key(tasks_[order[i - 1]])) before_in_row_[order[i]] = order[i - 1];
    }
  }

  std::vector<CriticalStep> run() const {
    std::vector<CriticalStep> path;
    const auto last = std::ranges::max_element(
        tasks_, {}, [](const TaskSpan& t) { return std::max(t.reduce_end, t.compute_end); });
    const auto number = static_cast<std::size_t>(last - tasks_.begin());
    std::optional<CriticalStep> at = CriticalStep{number, last_phase(number)};
    for (; at; at = before(*at)) path.push_back(*at);
    std::ranges::reverse(path);
    return path;
  }

 private:
  [[nodiscard]] Phase last_phase(std::size_t task) const {
    return tasks_[task].reduce_end > tasks_[task].reduce_start ? Phase::reduce : Phase::compute;
  }
  // The task `back` places earlier on the same SM.
  [[nodiscard]] std::optional<std::size_t> earlier(std::size_t task, std::size_t back) const {
    if (task < back || tasks_[task - back].sm != tasks_[task].sm) return std::nullopt;
    return task - back;
  }

  // What the phase waited for last.
  [[nodiscard]] std::optional<CriticalStep> before(const CriticalStep& step) const {
    const TaskSpan& t = tasks_[step.task];
    if (step.phase == Phase::reduce) {
      if (t.reduce_start == t.compute_end) return CriticalStep{step.task, Phase::compute};
      const auto own = earlier(step.task, 1);
      if (own && tasks_[*own].reduce_end == t.reduce_start) return CriticalStep{*own, Phase::reduce};
      if (before_in_row_[step.task]) return CriticalStep{*before_in_row_[step.task], Phase::reduce};
      return CriticalStep{step.task, Phase::compute};
    }
    if (t.compute_start == 0) return std::nullopt;
    for (std::size_t back = 1; back <= lookback_; ++back) {
      const auto own = earlier(step.task, back);
      if (!own) break;
      if (tasks_[*own].reduce_end == t.compute_start && last_phase(*own) == Phase::reduce) {
        return CriticalStep{*own, Phase::reduce};
      }
      if (back == 1 && tasks_[*own].compute_end == t.compute_start) return CriticalStep{*own, Phase::compute};
    }
    const auto own = earlier(step.task, 1);  // a dK/dV add of a group lies between: it is no task of its own
    return own ? std::optional(CriticalStep{*own, last_phase(*own)}) : std::nullopt;
  }

  const std::vector<TaskSpan>& tasks_;
  std::size_t lookback_;
  std::vector<std::optional<std::size_t>> before_in_row_;
};

}  // namespace

void finish_timeline(Timeline& timeline, DqMode mode, int overlap_depth) {
  auto& tasks = timeline.tasks;
  std::ranges::stable_sort(tasks, {},
                           [](const TaskSpan& t) { return std::pair(index(t.sm), t.compute_start); });
  if (tasks.empty()) return;
  if (mode == DqMode::arrival) {
    const auto order = by_row(tasks);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const bool same_row = i > 0 && row_key(tasks[order[i]]) == row_key(tasks[order[i - 1]]);
      tasks[order[i]].rank = same_row ? tasks[order[i - 1]].rank + 1 : 0;
    }
  }
  if (overlap_depth >= 0) timeline.critical_path = PathWalk(timeline, overlap_depth).run();
}

}  // namespace dashlab
