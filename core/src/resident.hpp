// Several CTAs on one SM: a simulator in the order of time, since they compete for the SM's compute engine.
#pragma once

#include <optional>

#include "dashlab/core/simulate.hpp"

namespace dashlab {

/// Nothing when the schedule gets stuck. Fills timeline->tasks, unordered. See simulate().
std::optional<Simulation> simulate_resident(const Problem& problem, const TileMap& tiles,
                                            const Schedule& schedule, const Costs& costs,
                                            std::uint32_t resident_per_sm, Timeline* timeline);

}  // namespace dashlab
