// What atomics would do: a random but possible run of a schedule, turned into the reduce orders that it
// happened to have.
#pragma once

#include <cstdint>

#include "dashlab/core/schedule.hpp"
#include "dashlab/core/tile_map.hpp"

namespace dashlab {

/// Runs the chains of `schedule` on its SMs, each task taking 1 to 2 units of time drawn from `seed`, and
/// notes in which order the tasks of each row, and the heads of each group, came to their end. The result is
/// `schedule` with those orders and dq_mode ordered. Throws BadInput for a schedule without reduces
/// (two-pass).
Schedule arrival_order(const Problem& problem, const Schedule& schedule, std::uint64_t seed);

}  // namespace dashlab
