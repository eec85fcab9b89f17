// Which tiles of one head take part, by column (chain) and by row: the sparse picture every algorithm works
// on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dashlab/core/problem.hpp"

namespace dashlab {

/// The non-empty tiles of one head (all heads share the mask). Immutable once built.
class TileMap {
 public:
  /// Classifies every tile of a checked problem. Throws EnvironmentError where memory would not do.
  explicit TileMap(const Problem& problem);

  /// Rows of the map.
  [[nodiscard]] std::uint32_t q_tiles() const noexcept { return q_tiles_; }
  /// Columns of the map.
  [[nodiscard]] std::uint32_t kv_tiles() const noexcept { return kv_tiles_; }
  /// Tasks of one head: the number of non-empty tiles.
  [[nodiscard]] std::uint64_t tasks_per_head() const noexcept { return column_q_.size(); }

  /// The q tiles that see `kv`, ascending.
  [[nodiscard]] std::span<const std::uint32_t> column(KvTile kv) const noexcept {
    return {column_q_.data() + column_begin_[index(kv)], column_q_.data() + column_begin_[index(kv) + 1]};
  }
  /// The classes of the tiles in column(kv), in the same order.
  [[nodiscard]] std::span<const TileClass> column_classes(KvTile kv) const noexcept {
    return {column_class_.data() + column_begin_[index(kv)],
            column_class_.data() + column_begin_[index(kv) + 1]};
  }
  /// The kv tiles that `q` sees, ascending.
  [[nodiscard]] std::span<const std::uint32_t> row(QTile q) const noexcept {
    return {row_kv_.data() + row_begin_[index(q)], row_kv_.data() + row_begin_[index(q) + 1]};
  }
  /// Class of any tile in range; `empty` where the mask leaves nothing.
  [[nodiscard]] TileClass at(QTile q, KvTile kv) const noexcept;

 private:
  std::uint32_t q_tiles_ = 0;
  std::uint32_t kv_tiles_ = 0;
  std::vector<std::uint64_t> column_begin_;
  std::vector<std::uint32_t> column_q_;
  std::vector<TileClass> column_class_;
  std::vector<std::uint64_t> row_begin_;
  std::vector<std::uint32_t> row_kv_;
};

}  // namespace dashlab
