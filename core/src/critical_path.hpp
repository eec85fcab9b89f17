// Finishing touches of a recorded timeline: its order, the ranks of arrival, the critical path.
#pragma once

#include "dashlab/core/schedule.hpp"
#include "dashlab/core/timeline.hpp"

namespace dashlab {

/// Sorts the tasks by SM and start, numbers arrivals (DqMode::arrival) and walks the critical path back from
/// the end.
void finish_timeline(Timeline& timeline, DqMode mode, int overlap_depth);

}  // namespace dashlab
