#include "measured_timeline.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dashlab::gpu {

Timeline measured_timeline(const Schedule& schedule, const LoweredSchedule& lowered,
                           const std::vector<TaskTrace>& trace, const std::vector<CtaClock>& clocks) {
  Timeline out;
  out.title = schedule.name + ", measured";
  out.unit = "us";
  out.ticks_per_unit = 1000;
  out.sms = static_cast<std::uint32_t>(clocks.size());
  std::int64_t start = std::numeric_limits<std::int64_t>::max();
  for (const CtaClock& clock : clocks)
    if (clock.ns_start != 0) start = std::min(start, clock.ns_start);
  const auto nanoseconds = [&](const CtaClock& clock, std::int64_t cycles) {
    const double span = static_cast<double>(std::max<std::int64_t>(1, clock.cycles_end - clock.cycles_start));
    const double part = static_cast<double>(cycles - clock.cycles_start) / span;
    return clock.ns_start - start +
           static_cast<std::int64_t>(std::llround(part * static_cast<double>(clock.ns_end - clock.ns_start)));
  };
  for (const DeviceChain& chain : lowered.chains)
    for (std::uint64_t i = chain.step_begin; i < chain.step_begin + chain.step_count; ++i) {
      const TaskTrace& task = trace[i];
      const DeviceStep& step = lowered.steps[i];
      const CtaClock& clock = clocks[task.sm];
      TaskSpan span;
      span.head = HeadId{step.head};
      span.q = QTile{step.q_tile};
      span.kv = KvTile{chain.kv_tile};
      span.sm = SmId{task.sm};
      span.rank = schedule.dq_mode == DqMode::ordered ? step.rank() : 0;
      span.chain = lowered.chain_of_device[task.chain];
      span.compute_start = nanoseconds(clock, task.compute_start);
      span.compute_end = nanoseconds(clock, task.compute_end);
      span.reduce_start = std::max(
          span.compute_end, task.reduce_start == 0 ? std::int64_t{0} : nanoseconds(clock, task.reduce_start));
      span.reduce_end = std::max(
          span.reduce_start, task.reduce_end == 0 ? std::int64_t{0} : nanoseconds(clock, task.reduce_end));
      out.makespan = std::max(out.makespan, span.reduce_end);
      out.tasks.push_back(span);
    }
  std::sort(out.tasks.begin(), out.tasks.end(), [](const TaskSpan& a, const TaskSpan& b) {
    return a.sm != b.sm ? a.sm < b.sm : a.compute_start < b.compute_start;
  });
  return out;
}

}  // namespace dashlab::gpu
