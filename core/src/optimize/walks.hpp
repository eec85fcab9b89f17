// A static schedule in the making: what the optimiser changes and runs thousands of times.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "dashlab/core/schedule.hpp"

namespace dashlab {

/// One chain and the rows it walks, in order. A row is head * q_tiles + q.
struct Walk {
  std::uint32_t owner = 0;  ///< q head (per_head) or kv head (gathered)
  std::uint32_t kv = 0;
  std::vector<std::uint32_t> rows;
};

/// The walks of each SM, in order.
using Walks = std::vector<std::vector<Walk>>;

/// Reduce orders found by a run: kv tiles, row after row as in Schedule::reduce_kv; and
/// Schedule::group_order.
struct ReduceOrders {
  std::vector<std::uint32_t> reduce_kv;
  std::vector<std::uint32_t> group_order;
};

/// Every chain of the problem, rows ascending, owner after owner.
std::vector<Walk> all_walks(const Problem& problem, const TileMap& tiles, GroupMode group_mode);

/// The walks of a schedule of one pass; `sm_of_chain` says where its chains ran (Simulation::sm_of_chain).
Walks walks_of(const TileMap& tiles, const Schedule& schedule, const std::vector<std::uint32_t>& sm_of_chain);

/// The schedule of these walks, whose rows and groups add in the given orders.
Schedule to_schedule(std::string_view name, const Problem& problem, const TileMap& tiles,
                     GroupMode group_mode, const Walks& walks, ReduceOrders orders);

}  // namespace dashlab
