// Runs a schedule without a clock and, when it gets stuck, finds the shortest cycle of waits.
#pragma once

#include <cstdint>

#include "completeness.hpp"

namespace dashlab {

/// True when every task of the schedule can run. Works on incomplete schedules too: a tile that never adds
/// blocks its successors, as it would on a GPU.
bool check_deadlock(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                    std::uint64_t resident, ErrorList& errors);

}  // namespace dashlab
