// The attention problem: sizes, tiles and mask, with the validity check and the counts that follow from them.
#pragma once

#include <cstdint>
#include <vector>

#include "dashlab/core/mask.hpp"
#include "dashlab/core/types.hpp"

namespace dashlab {

/// Sizes of one attention backward pass. Lengths are in tokens; a problem for theory is given in tiles
/// (`in_tiles`), then lengths are tile counts, tiles are 1 x 1, and masks are measured in tiles.
struct Problem {
  std::int64_t batch = 1;
  std::int64_t heads = 1;     ///< q heads per batch entry
  std::int64_t kv_heads = 1;  ///< divides heads; q head h reads kv head h / (heads / kv_heads)
  std::int64_t seqlen_q = 0;
  std::int64_t seqlen_k = 0;
  std::int64_t head_dim = 128;
  std::int64_t tile_q = 128;
  std::int64_t tile_kv = 128;
  bool in_tiles = false;
  Mask mask = FullMask{};

  /// Tiles along the queries, the last one possibly cut.
  [[nodiscard]] std::int64_t q_tiles() const noexcept { return (seqlen_q + tile_q - 1) / tile_q; }
  /// Tiles along the keys.
  [[nodiscard]] std::int64_t kv_tiles() const noexcept { return (seqlen_k + tile_kv - 1) / tile_kv; }
  /// q heads over the whole batch; HeadId runs below this.
  [[nodiscard]] std::int64_t total_heads() const noexcept { return batch * heads; }
  /// q heads that share one kv head.
  [[nodiscard]] std::int64_t group_size() const noexcept { return heads / kv_heads; }
  /// The kv head (batch index * kv_heads + kv head) that a q head reads.
  [[nodiscard]] std::uint32_t kv_head_of(HeadId head) const noexcept {
    const auto h = static_cast<std::int64_t>(index(head));
    return static_cast<std::uint32_t>(h / heads * kv_heads + h % heads / group_size());
  }
  friend bool operator==(const Problem&, const Problem&) = default;
};

/// A problem in tiles: `q_tiles` x `kv_tiles` per head.
Problem tile_problem(std::int64_t q_tiles, std::int64_t kv_tiles, std::int64_t heads, Mask mask);

/// Throws BadInput naming the first field that is out of range or that the mask contradicts.
void check(const Problem& problem);

/// Which keys each query row may see, clipped to the sequence: one interval per row, whose ends both grow
/// with q. Not for BlocksMask, whose rows are no intervals: ask the tile map.
class VisibleKeys {
 public:
  /// Keeps a reference to `problem`, which must outlive it.
  explicit VisibleKeys(const Problem& problem);
  /// Keys of query row q, 0..seqlen_q-1. Logarithmic in the number of documents.
  [[nodiscard]] KeyRange operator()(std::int64_t q) const;
  /// Whether row q ends at its own diagonal: a causal mask, or a causal document.
  [[nodiscard]] bool causal_at(std::int64_t q) const;

 private:
  [[nodiscard]] std::size_t document_of(std::int64_t q) const;

  const Problem& problem_;
  std::vector<std::int64_t> document_end_;  // running sum of the documents' lengths
};

/// VisibleKeys of one row, for a single question.
KeyRange visible_keys(const Problem& problem, std::int64_t q);

}  // namespace dashlab
