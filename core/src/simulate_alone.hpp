// The simulator without the finishing of the timeline, for those who need the tasks in any order.
#pragma once

#include "dashlab/core/simulate.hpp"

namespace dashlab {

/// One CTA per SM. Appends to timeline->tasks, SM by SM in no particular order.
Simulation simulate_alone(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                          const Costs& costs, Timeline* timeline);

}  // namespace dashlab
