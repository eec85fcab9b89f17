// Where the orders of rows and groups lie in a schedule's flat arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "dashlab/core/problem.hpp"
#include "dashlab/core/tile_map.hpp"

namespace dashlab {

/// Schedule::row_begin of any schedule with reduce orders.
std::vector<std::uint64_t> row_starts(const Problem& problem, const TileMap& tiles);

/// Schedule::group_order with the q heads of every group ascending. Empty without grouped queries.
std::vector<std::uint32_t> ascending_groups(const Problem& problem, const TileMap& tiles);

}  // namespace dashlab
