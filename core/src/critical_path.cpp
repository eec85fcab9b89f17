#include "critical_path.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "rows.hpp"

namespace dashlab {
namespace {

class PathWalk {
 public:
  PathWalk(const Timeline& timeline, int overlap_depth)
      : tasks_(timeline.tasks),
        lookback_(static_cast<std::size_t>(overlap_depth) + 1),
        before_in_row_(tasks_.size(), none) {
    const TimelineRows rows(tasks_);
    for (std::size_t r = 0; r < rows.count(); ++r) {
      const auto row = rows.row(r);
      for (std::size_t i = 1; i < row.size(); ++i) before_in_row_[row[i]] = row[i - 1];
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
      const std::size_t predecessor = before_in_row_[step.task];
      if (predecessor != none) return CriticalStep{predecessor, Phase::reduce};
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
  static constexpr std::size_t none = SIZE_MAX;
  std::vector<std::size_t> before_in_row_;
};

// Tasks come in the order in which their SM ran them, so collecting each SM's is nearly all there is to sort.
void sort_by_sm(std::vector<TaskSpan>& tasks, std::uint32_t sms) {
  std::vector<std::size_t> next(std::size_t{sms} + 1, 0);
  for (const TaskSpan& t : tasks) ++next[index(t.sm) + std::size_t{1}];
  for (std::size_t sm = 0; sm < sms; ++sm) next[sm + 1] += next[sm];
  const std::vector<std::size_t> begin = next;
  std::vector<TaskSpan> sorted(tasks.size());
  for (const TaskSpan& t : tasks) sorted[next[index(t.sm)]++] = t;
  for (std::size_t sm = 0; sm < sms; ++sm) {
    const std::span mine(sorted.data() + begin[sm], begin[sm + 1] - begin[sm]);
    if (!std::ranges::is_sorted(mine, {}, &TaskSpan::compute_start)) {
      std::ranges::stable_sort(mine, {}, &TaskSpan::compute_start);
    }
  }
  tasks = std::move(sorted);
}

}  // namespace

void finish_timeline(Timeline& timeline, DqMode mode, int overlap_depth) {
  auto& tasks = timeline.tasks;
  sort_by_sm(tasks, timeline.sms);
  if (tasks.empty()) return;
  if (mode == DqMode::arrival) {
    const TimelineRows rows(tasks);
    for (std::size_t r = 0; r < rows.count(); ++r) {
      std::uint32_t rank = 0;
      for (std::size_t task : rows.row(r)) tasks[task].rank = rank++;
    }
  }
  if (overlap_depth >= 0) timeline.critical_path = PathWalk(timeline, overlap_depth).run();
}

}  // namespace dashlab
