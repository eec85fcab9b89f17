#include "walks.hpp"

#include "../row_layout.hpp"

namespace dashlab {

std::vector<Walk> all_walks(const Problem& problem, const TileMap& tiles, GroupMode group_mode) {
  const bool gathered = group_mode == GroupMode::gathered;
  const auto heads_per_owner = static_cast<std::uint32_t>(gathered ? problem.group_size() : 1);
  const auto owners = static_cast<std::uint32_t>(problem.total_heads()) / heads_per_owner;
  std::vector<Walk> walks;
  for (std::uint32_t owner = 0; owner < owners; ++owner) {
    for (std::uint32_t kv = 0; kv < tiles.kv_tiles(); ++kv) {
      Walk walk{owner, kv, {}};
      for (std::uint32_t i = 0; i < heads_per_owner; ++i) {
        const std::uint32_t head = owner * heads_per_owner + i;
        for (std::uint32_t q : tiles.column(KvTile{kv})) walk.rows.push_back(head * tiles.q_tiles() + q);
      }
      if (!walk.rows.empty()) walks.push_back(std::move(walk));
    }
  }
  return walks;
}

Walks walks_of(const TileMap& tiles, const Schedule& schedule,
               const std::vector<std::uint32_t>& sm_of_chain) {
  Walks walks(schedule.sms);
  for (std::size_t c = 0; c < schedule.chains.size(); ++c) {
    Walk walk{schedule.chains[c].head, schedule.chains[c].tile, {}};
    for (std::uint64_t step = schedule.chain_begin[c]; step < schedule.chain_begin[c + 1]; ++step) {
      walk.rows.push_back(schedule.head_of_step(c, step) * tiles.q_tiles() + schedule.steps[step]);
    }
    walks[sm_of_chain[c]].push_back(std::move(walk));
  }
  return walks;
}

Schedule to_schedule(std::string_view name, const Problem& problem, const TileMap& tiles,
                     GroupMode group_mode, const Walks& walks, ReduceOrders orders) {
  Schedule schedule;
  schedule.name = name;
  schedule.placement = Placement::static_lists;
  schedule.group_mode = group_mode;
  schedule.sms = static_cast<std::uint32_t>(walks.size());
  schedule.sm_begin.assign(1, 0);
  const std::uint32_t q_tiles = tiles.q_tiles();
  for (const auto& list : walks) {
    for (const Walk& walk : list) {
      schedule.chains.push_back({walk.owner, walk.kv, false});
      for (std::uint32_t row : walk.rows) {
        schedule.steps.push_back(row % q_tiles);
        if (group_mode == GroupMode::gathered) schedule.step_head.push_back(row / q_tiles);
      }
      schedule.chain_begin.push_back(schedule.steps.size());
    }
    schedule.sm_begin.push_back(schedule.chains.size());
  }
  schedule.row_begin = row_starts(problem, tiles);
  schedule.reduce_kv = std::move(orders.reduce_kv);
  schedule.group_order = std::move(orders.group_order);
  return schedule;
}

}  // namespace dashlab
