#include "row_layout.hpp"

namespace dashlab {

std::vector<std::uint64_t> row_starts(const Problem& problem, const TileMap& tiles) {
  const auto heads = static_cast<std::uint64_t>(problem.total_heads());
  std::vector<std::uint64_t> starts(heads * tiles.q_tiles() + 1);
  std::uint64_t* start = starts.data();
  for (std::uint64_t head = 0; head < heads; ++head) {
    for (std::uint32_t q = 0; q < tiles.q_tiles(); ++q, ++start) {
      start[1] = start[0] + tiles.row(QTile{q}).size();
    }
  }
  return starts;
}

std::vector<std::uint32_t> ascending_groups(const Problem& problem, const TileMap& tiles) {
  const auto group = static_cast<std::uint32_t>(problem.group_size());
  std::vector<std::uint32_t> order;
  if (group == 1) return order;
  const auto kv_heads = static_cast<std::uint32_t>(problem.batch * problem.kv_heads);
  order.reserve(std::size_t{kv_heads} * tiles.kv_tiles() * group);
  for (std::uint32_t kv_head = 0; kv_head < kv_heads; ++kv_head) {
    for (std::uint32_t kv = 0; kv < tiles.kv_tiles(); ++kv) {
      for (std::uint32_t i = 0; i < group; ++i) order.push_back(kv_head * group + i);
    }
  }
  return order;
}

}  // namespace dashlab
