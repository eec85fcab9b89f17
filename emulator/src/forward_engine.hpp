// The forward pass of one q tile, common to all recipes: scores, running row maximum, probabilities, four
// partial row sums, rescaled output. A recipe is a struct of plain functions:
//   Element                         16-bit pattern or float
//   mul, add, fma                   scalar arithmetic, flushing or not
//   rescale(row, factor)            mul over a row
//   correction(m_old, m_new)        factor for what was summed under the old maximum
//   probabilities(s, m, p)          scores to unrounded p (in place) and to p as the next product takes it
//   DType dtype
// docs/numerics.md, sections 5 and 6.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "dashlab/core/problem.hpp"
#include "dashlab/emulator/attention.hpp"
#include "once.hpp"
#include "operands.hpp"
#include "tile_mask.hpp"

namespace dashlab {

/// k and v of one kv tile, packed by the first who needs it and dropped by the last.
template <typename Element>
struct PackedKv {
  Once packed;
  std::atomic<std::uint32_t> uses{0};
  typename Operands<Element>::Right k_transposed, v;
};

/// All kv tiles of all kv heads, cut into `tile_kv` columns. `uses` of each tile must be counted before the
/// work begins.
template <typename Element>
class PackedKvTiles {
  using Ops = Operands<Element>;

 public:
  PackedKvTiles(const Problem& problem, const AttentionInputs& inputs, std::int64_t tile_kv)
      : problem_(problem),
        inputs_(inputs),
        tile_kv_(tile_kv),
        tiles_((problem.seqlen_k + tile_kv - 1) / tile_kv),
        packed_(std::make_unique<PackedKv<Element>[]>(
            static_cast<std::size_t>(problem.batch * problem.kv_heads * tiles_))) {}

  [[nodiscard]] std::int64_t columns(std::int64_t tile) const {
    return std::min(tile_kv_, problem_.seqlen_k - tile * tile_kv_);
  }
  void count_use(std::uint32_t head, std::int64_t tile) { at(head, tile).uses.fetch_add(1); }

  const PackedKv<Element>& get(std::uint32_t head, std::int64_t tile) {
    PackedKv<Element>& kv = at(head, tile);
    kv.packed.call([&] {
      HeadRows place = head_rows(problem_.seqlen_k, problem_.kv_heads, problem_.head_dim,
                                 problem_.kv_head_of(HeadId{head}));
      place.first += tile * tile_kv_ * place.stride;
      const auto rows = static_cast<int>(columns(tile));
      const auto dim = static_cast<int>(problem_.head_dim);
      const DType type = inputs_.k.dtype;
      Ops::pack(kv.k_transposed, Ops::transposed(Ops::data(inputs_.k) + place.first, place.stride, rows, dim),
                type);
      Ops::pack(kv.v, Ops::view(Ops::data(inputs_.v) + place.first, place.stride, rows, dim), type);
    });
    return kv;
  }
  void release(std::uint32_t head, std::int64_t tile) {
    PackedKv<Element>& kv = at(head, tile);
    if (kv.uses.fetch_sub(1) == 1) kv.k_transposed = {}, kv.v = {};
  }

 private:
  PackedKv<Element>& at(std::uint32_t head, std::int64_t tile) {
    return packed_[static_cast<std::size_t>(problem_.kv_head_of(HeadId{head}) * tiles_ + tile)];
  }

  const Problem& problem_;
  const AttentionInputs& inputs_;
  std::int64_t tile_kv_;
  std::int64_t tiles_;
  std::unique_ptr<PackedKv<Element>[]> packed_;
};

/// Running state of the rows of one q tile: maxima, four partial sums each, unnormalised output (rows x dim).
struct ForwardRows {
  std::vector<float> maximum;
  std::vector<std::array<float, 4>> sums;
  std::vector<float> o;

  /// The whole sum of a row, as lanes 0..3 combine it.
  template <typename Recipe>
  [[nodiscard]] float sum(const Recipe& recipe, std::size_t row) const {
    const auto& l = sums[row];
    return recipe.add(recipe.add(l[0], l[2]), recipe.add(l[1], l[3]));
  }
};

/// Walks the given kv tiles (first to last) for q rows [q_begin, q_begin + rows) of `head`.
template <typename Recipe>
class ForwardWalk {
  using Element = typename Recipe::Element;
  using Ops = Operands<Element>;

 public:
  ForwardWalk(const Recipe& recipe, const Problem& problem, const AttentionInputs& inputs,
              PackedKvTiles<Element>& kv_tiles, std::int64_t tile_kv)
      : recipe_(recipe), problem_(problem), inputs_(inputs), kv_tiles_(kv_tiles), tile_kv_(tile_kv) {}

  ForwardRows run(std::uint32_t head, std::int64_t q_begin, int rows, std::span<const std::int64_t> tiles) {
    const auto dim = static_cast<int>(problem_.head_dim);
    HeadRows place = head_rows(problem_.seqlen_q, problem_.heads, problem_.head_dim, head);
    place.first += q_begin * place.stride;
    Ops::pack(q_, Ops::view(Ops::data(inputs_.q) + place.first, place.stride, rows, dim), inputs_.q.dtype);
    ForwardRows state;
    state.maximum.assign(static_cast<std::size_t>(rows), -std::numeric_limits<float>::infinity());
    state.sums.assign(static_cast<std::size_t>(rows), {});
    state.o.assign(static_cast<std::size_t>(rows) * static_cast<std::size_t>(dim), 0.0F);
    bool first = true;
    for (const std::int64_t tile : tiles) {
      const PackedKv<Element>& kv = kv_tiles_.get(head, tile);
      const auto n = static_cast<int>(kv_tiles_.columns(tile));
      s_.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(n));
      p_.resize(s_.size());
      Ops::multiply(q_, kv.k_transposed, s_.data(), n, Start::zero);
      for (int r = 0; r < rows; ++r) {
        const std::span<float> s(s_.data() + std::ptrdiff_t{r} * n, static_cast<std::size_t>(n));
        mask_row(problem_, q_begin + r, tile * tile_kv_, s);
        step(state, static_cast<std::size_t>(r), s, p_.data() + std::ptrdiff_t{r} * n, first);
      }
      Ops::pack(p_left_, Ops::view(p_.data(), n, rows, n), inputs_.q.dtype);
      Ops::multiply(p_left_, kv.v, state.o.data(), dim, Start::accumulate);
      kv_tiles_.release(head, tile);
      first = false;
    }
    return state;
  }

 private:
  void step(ForwardRows& state, std::size_t row, std::span<float> s, Element* p, bool first) {
    const float before = state.maximum[row];
    float now = before;
    for (const float x : s) now = x > now ? x : now;
    state.maximum[row] = now;
    float factor = 0.0F;
    if (!first) {
      factor = recipe_.correction(before, now);
      const auto dim = static_cast<std::size_t>(problem_.head_dim);
      float* o = state.o.data() + row * dim;
      recipe_.rescale({o, dim}, factor);
    }
    recipe_.probabilities(s, now, p);
    // Lane t owns columns 8j + 2t and 8j + 2t + 1. A lane that a short tile leaves without columns sees
    // zeros.
    for (std::size_t t = 0; t < 4; ++t) {
      float& sum = state.sums[row][t];
      const float p_first = 2 * t < s.size() ? s[2 * t] : 0.0F;
      sum = first ? p_first : recipe_.fma(factor, sum, p_first);
      for (std::size_t j = 2 * t; j < s.size(); j += 8) {
        if (j != 2 * t) sum = recipe_.add(sum, s[j]);
        if (j + 1 < s.size()) sum = recipe_.add(sum, s[j + 1]);
      }
    }
  }

  const Recipe& recipe_;
  const Problem& problem_;
  const AttentionInputs& inputs_;
  PackedKvTiles<Element>& kv_tiles_;
  std::int64_t tile_kv_;
  typename Ops::Left q_, p_left_;
  std::vector<float> s_;
  std::vector<Element> p_;
};

}  // namespace dashlab
