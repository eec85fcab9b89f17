#include "components.hpp"

#include <numeric>

namespace dashlab {
namespace {

std::uint32_t root(std::vector<std::uint32_t>& parent, std::uint32_t node) {
  while (parent[node] != node) node = parent[node] = parent[parent[node]];
  return node;
}

}  // namespace

std::vector<Component> components(const TileMap& tiles) {
  std::vector<std::uint32_t> parent(tiles.kv_tiles());
  std::iota(parent.begin(), parent.end(), 0U);
  for (std::uint32_t q = 0; q < tiles.q_tiles(); ++q) {
    const auto row = tiles.row(QTile{q});
    for (std::size_t i = 1; i < row.size(); ++i) {
      const std::uint32_t a = root(parent, row[0]);
      const std::uint32_t b = root(parent, row[i]);
      parent[std::max(a, b)] = std::min(a, b);  // the root is the smallest member
    }
  }
  std::vector<Component> result;
  std::vector<std::size_t> number(tiles.kv_tiles());
  for (std::uint32_t kv = 0; kv < tiles.kv_tiles(); ++kv) {
    if (tiles.column(KvTile{kv}).empty()) continue;
    const std::uint32_t first = root(parent, kv);
    if (first == kv) {
      number[kv] = result.size();
      result.emplace_back();
    }
    result[number[first]].push_back(kv);
  }
  return result;
}

}  // namespace dashlab
