#include "dashlab/core/tile_map.hpp"

#include <algorithm>

#include "memory.hpp"

namespace dashlab {
namespace {

// The keys that some query of a q tile sees, and those that every query sees. Both ends of a row's range grow
// with q and consecutive ranges touch, so the first and the last row decide both.
struct RowReach {
  KeyRange any;
  KeyRange all;
};

RowReach reach_of_row(const Problem& p, const VisibleKeys& visible, std::int64_t q_tile) {
  const std::int64_t first = q_tile * p.tile_q;
  const KeyRange top = visible(first);
  const KeyRange bottom = visible(std::min(first + p.tile_q, p.seqlen_q) - 1);
  return {{top.begin, bottom.end}, {bottom.begin, top.end}};
}

// In tokens a tile is full when every query of it sees every key of it; one cut by the end of a sequence is
// partial.
TileClass token_class(const Problem& p, const RowReach& reach, std::int64_t q_tile, std::int64_t kv_tile) {
  const std::int64_t k0 = kv_tile * p.tile_kv;
  const std::int64_t k1 = k0 + p.tile_kv;
  const bool whole = k1 <= p.seqlen_k && (q_tile + 1) * p.tile_q <= p.seqlen_q;
  return whole && reach.all.begin <= k0 && k1 <= reach.all.end ? TileClass::full : TileClass::partial;
}

// In tiles the edge of a causal or window mask stands for the tiles that such a mask would cut.
TileClass tile_class(const Problem& p, const VisibleKeys& visible, std::int64_t q_tile,
                     std::int64_t kv_tile) {
  const std::int64_t ahead = kv_tile - q_tile - (p.seqlen_k - p.seqlen_q);
  const auto* window = std::get_if<WindowMask>(&p.mask);
  const bool at_window_edge = window && ((window->left >= 0 && ahead == -window->left) ||
                                         (window->right >= 0 && ahead == window->right));
  const bool edge = at_window_edge || (ahead == 0 && visible.causal_at(q_tile));
  return edge ? TileClass::partial : TileClass::full;
}

// Two 32-bit indices and the class, the latter once more while building.
constexpr std::uint64_t bytes_per_tile = 10;

// Counts no further than any machine goes, so that an absurd size is refused at once.
std::uint64_t count_tiles(const Problem& p, const VisibleKeys& visible) {
  constexpr std::uint64_t enough = (std::uint64_t{1} << 50) / bytes_per_tile;
  std::uint64_t count = 0;
  for (std::int64_t q = 0; q < p.q_tiles() && count < enough; ++q) {
    const KeyRange keys = reach_of_row(p, visible, q).any;
    if (keys.begin < keys.end) {
      count += static_cast<std::uint64_t>((keys.end - 1) / p.tile_kv - keys.begin / p.tile_kv + 1);
    }
  }
  return count;
}

}  // namespace

TileMap::TileMap(const Problem& problem)
    : q_tiles_(static_cast<std::uint32_t>(problem.q_tiles())),
      kv_tiles_(static_cast<std::uint32_t>(problem.kv_tiles())),
      row_begin_{0} {
  const auto* blocks = std::get_if<BlocksMask>(&problem.mask);
  const VisibleKeys visible(problem);
  const std::uint64_t index_bytes =
      sizeof(std::uint64_t) * (std::uint64_t{q_tiles_} + 2 * std::uint64_t{kv_tiles_});
  const std::uint64_t count = blocks ? 0 : count_tiles(problem, visible);
  require_memory(index_bytes + bytes_per_tile * count, "the tile map");
  column_begin_.resize(kv_tiles_ + std::size_t{1});
  std::vector<TileClass> row_class;
  for (std::uint32_t q = 0; q < q_tiles_; ++q) {
    const RowReach reach =
        blocks ? RowReach{{0, problem.seqlen_k}, {0, problem.seqlen_k}} : reach_of_row(problem, visible, q);
    const std::int64_t end = reach.any.begin < reach.any.end ? reach.any.end : reach.any.begin;
    for (auto kv = static_cast<std::uint32_t>(reach.any.begin / problem.tile_kv); kv * problem.tile_kv < end;
         ++kv) {
      if (blocks && blocks->visible[std::size_t{q} * kv_tiles_ + kv] == 0) continue;
      row_kv_.push_back(kv);
      row_class.push_back(problem.in_tiles ? tile_class(problem, visible, q, kv)
                                           : token_class(problem, reach, q, kv));
      ++column_begin_[kv + std::size_t{1}];
    }
    row_begin_.push_back(row_kv_.size());
  }
  for (std::size_t kv = 0; kv < kv_tiles_; ++kv) column_begin_[kv + 1] += column_begin_[kv];

  column_q_.resize(row_kv_.size());
  column_class_.resize(row_kv_.size());
  std::vector<std::uint64_t> next(column_begin_.begin(), column_begin_.end() - 1);
  for (std::uint32_t q = 0; q < q_tiles_; ++q) {
    for (std::uint64_t i = row_begin_[q]; i < row_begin_[q + std::size_t{1}]; ++i) {
      const std::uint64_t slot = next[row_kv_[i]]++;
      column_q_[slot] = q;
      column_class_[slot] = row_class[i];
    }
  }
}

TileClass TileMap::at(QTile q, KvTile kv) const noexcept {
  const auto rows = column(kv);
  const auto found = std::lower_bound(rows.begin(), rows.end(), index(q));
  if (found == rows.end() || *found != index(q)) return TileClass::empty;
  return column_classes(kv)[static_cast<std::size_t>(found - rows.begin())];
}

}  // namespace dashlab
