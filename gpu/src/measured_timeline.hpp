// From a kernel's trace to the common timeline. Host only.
#pragma once

#include <vector>

#include "dashlab/core/timeline.hpp"
#include "lowering.hpp"

namespace dashlab::gpu {

/// Cycles become nanoseconds by each CTA's own pair of clock readings. `trace` by device step, `clocks` by
/// CTA.
Timeline measured_timeline(const Schedule& schedule, const LoweredSchedule& lowered,
                           const std::vector<TaskTrace>& trace, const std::vector<CtaClock>& clocks);

}  // namespace dashlab::gpu
