// Recipe fa2-torch, forward: IEEE arithmetic without flushing, keys split over CTAs where q tiles are few
// (docs/numerics.md, section 6).
#include <bit>
#include <cmath>

#include "dashlab/emulator/array_math.hpp"
#include "dashlab/emulator/fa2.hpp"
#include "dashlab/emulator/scalar_math.hpp"
#include "dashlab/emulator/special_functions.hpp"
#include "tiled_forward.hpp"

namespace dashlab {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float ln2 = 0x1.62e430p-1F;  // 0x3f317218

struct Fa2Forward {
  using Element = std::uint16_t;
  InputType type;
  float scale;
  float scale_log2;
  float empty_lse;  ///< lse of a row without keys

  [[nodiscard]] float mul(float a, float b) const { return dashlab::mul(a, b); }
  [[nodiscard]] float add(float a, float b) const { return dashlab::add(a, b); }
  [[nodiscard]] float fma(float a, float b, float c) const { return dashlab::fma(a, b, c); }

  void rescale(std::span<float> row, float factor) const { dashlab::mul(row, factor); }

  [[nodiscard]] float correction(float before, float now) const {
    return exp2_accurate(mul(sub(before, now == -infinity ? 0.0F : now), scale_log2));
  }
  void probabilities(std::span<float> s, float maximum, Element* p) const {
    const float scaled = maximum == -infinity ? 0.0F : mul(maximum, scale_log2);
    mul_sub(s, scale_log2, scaled);
    exp2_accurate(s, s);
    convert(s, {p, s.size()}, type);
  }
  struct End {
    float inverse, lse;
  };
  [[nodiscard]] End finish(float maximum, float sum) const {
    if (sum == 0.0F || sum != sum) return {1.0F, empty_lse};
    return {div(1.0F, sum), fma(maximum, scale, mul(lg2_approx_ftz(sum), ln2))};
  }
  [[nodiscard]] Element round(float x) const { return from_float(x, type); }
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

constexpr std::int64_t split_rows = 64;

std::int64_t split_columns(std::int64_t head_dim) {
  if (head_dim <= 64) return 256;
  return head_dim <= 128 ? 128 : 64;
}

TileShape unsplit_tiles(std::int64_t head_dim) {
  if (head_dim <= 64) return {128, 128};
  return head_dim <= 192 ? TileShape{128, 64} : TileShape{64, 64};
}

/// Lanes and their sums when the parts' log-sum-exps are combined.
float combined_sum(const std::vector<float>& exponentials, std::int64_t head_dim) {
  const std::size_t rows_per_block = head_dim % 128 == 0 ? 4 : head_dim % 64 == 0 ? 8 : 16;
  const std::size_t slots = std::bit_ceil(exponentials.size());
  const std::size_t lanes = std::min(128 / rows_per_block, slots);
  std::vector<float> sum(lanes, 0.0F);
  for (std::size_t i = 0; i < exponentials.size(); ++i) sum[i % lanes] = add(sum[i % lanes], exponentials[i]);
  for (std::size_t stride = lanes / 2; stride > 0; stride /= 2) {
    const std::vector<float> other = sum;
    for (std::size_t r = 0; r < lanes; ++r) sum[r] = add(sum[r], other[r ^ stride]);
  }
  return sum[0];
}

/// The split pass for one block of 64 rows, and the combination of its parts.
class SplitForward {
 public:
  SplitForward(const Fa2Forward& recipe, const Problem& problem, const AttentionInputs& inputs,
               std::int64_t splits)
      : recipe_(recipe),
        problem_(problem),
        inputs_(inputs),
        splits_(splits),
        columns_(split_columns(problem.head_dim)),
        kv_tiles_(problem, inputs, columns_) {
    const std::int64_t blocks = row_blocks();
    for (std::uint32_t head = 0; head < problem.total_heads(); ++head)
      for (std::int64_t block = 0; block < blocks; ++block)
        for (std::int64_t tile = 0; tile < last_tile(block); ++tile) kv_tiles_.count_use(head, tile);
  }

  [[nodiscard]] std::int64_t row_blocks() const { return ceil_div(problem_.seqlen_q, split_rows); }

  void run(std::uint32_t head, std::int64_t block, ForwardResult& result) {
    const std::int64_t q_begin = block * split_rows;
    const auto rows = static_cast<std::size_t>(std::min(split_rows, problem_.seqlen_q - q_begin));
    const auto dim = static_cast<std::size_t>(problem_.head_dim);
    const std::int64_t per_split = ceil_div(ceil_div(problem_.seqlen_k, columns_), splits_);
    std::vector<std::vector<float>> o(static_cast<std::size_t>(splits_)),
        lse(static_cast<std::size_t>(splits_));
    for (std::int64_t split = 0; split < splits_; ++split) {
      const auto part = static_cast<std::size_t>(split);
      std::vector<std::int64_t> down;
      for (std::int64_t tile = std::min((split + 1) * per_split, last_tile(block));
           tile-- > split * per_split;)
        down.push_back(tile);
      o[part].assign(rows * dim, 0.0F);
      lse[part].assign(rows, -infinity);
      if (down.empty()) continue;
      ForwardWalk<Fa2Forward> walk(recipe_, problem_, inputs_, kv_tiles_, columns_);
      const ForwardRows state = walk.run(head, q_begin, static_cast<int>(rows), down);
      for (std::size_t r = 0; r < rows; ++r) {
        const auto end = recipe_.finish(state.maximum[r], state.sum(recipe_, r));
        lse[part][r] = end.lse;
        for (std::size_t i = r * dim; i < (r + 1) * dim; ++i) o[part][i] = mul(state.o[i], end.inverse);
      }
    }
    const HeadRows place = head_rows(problem_.seqlen_q, problem_.heads, problem_.head_dim, head);
    for (std::size_t r = 0; r < rows; ++r) {
      const std::int64_t q = q_begin + static_cast<std::int64_t>(r);
      result.lse.f32()[std::int64_t{head} * problem_.seqlen_q + q] =
          combine(o, lse, r, result.o.u16() + place.first + q * place.stride);
    }
  }

 private:
  /// One past the last kv tile that the rows of a block need.
  [[nodiscard]] std::int64_t last_tile(std::int64_t block) const {
    const std::int64_t tiles = ceil_div(problem_.seqlen_k, columns_);
    if (!std::holds_alternative<CausalMask>(problem_.mask)) return tiles;
    const std::int64_t keys = (block + 1) * split_rows + problem_.seqlen_k - problem_.seqlen_q;
    return std::clamp<std::int64_t>(ceil_div(std::max<std::int64_t>(keys, 0), columns_), 0, tiles);
  }

  float combine(const std::vector<std::vector<float>>& o, const std::vector<std::vector<float>>& lse,
                std::size_t r, std::uint16_t* out) const {
    const auto dim = static_cast<std::size_t>(problem_.head_dim);
    float maximum = -infinity;
    for (const auto& part : lse) maximum = std::fmax(maximum, part[r]);
    if (maximum == -infinity) maximum = 0.0F;
    std::vector<float> exponentials;
    for (const auto& part : lse) exponentials.push_back(exp_accurate(sub(part[r], maximum)));
    const float sum = combined_sum(exponentials, problem_.head_dim);
    const float total = sum == 0.0F || sum != sum ? infinity : add(log_accurate(sum), maximum);
    std::vector<float> row(dim, 0.0F);
    for (std::size_t part = 0; part < o.size(); ++part) {
      const float weight = exp_accurate(sub(lse[part][r], total));
      for (std::size_t i = 0; i < dim; ++i) row[i] = fma(weight, o[part][r * dim + i], row[i]);
    }
    for (std::size_t i = 0; i < dim; ++i) out[i] = recipe_.round(row[i]);
    return total;
  }

  const Fa2Forward& recipe_;
  const Problem& problem_;
  const AttentionInputs& inputs_;
  std::int64_t splits_;
  std::int64_t columns_;
  PackedKvTiles<std::uint16_t> kv_tiles_;
};

}  // namespace

std::int64_t fa2_forward_splits(const Problem& problem, std::uint32_t sms) {
  const std::int64_t slots = 2 * std::int64_t{sms};
  const std::int64_t ctas = problem.total_heads() * ceil_div(problem.seqlen_q, split_rows);
  if (static_cast<float>(ctas) >= 0.8F * static_cast<float>(slots)) return 1;
  const std::int64_t blocks = ceil_div(problem.seqlen_k, split_columns(problem.head_dim));
  const std::int64_t most = std::min({std::int64_t{128}, slots, blocks});
  // A number of splits that would leave the last one empty is the same as a smaller one.
  const auto eligible = [&](std::int64_t n) {
    return n == 1 || ceil_div(blocks, n) != ceil_div(blocks, n - 1);
  };
  const auto efficiency = [&](std::int64_t n) {
    const float waves = static_cast<float>(ctas * n) / static_cast<float>(slots);
    return waves / std::ceil(waves);
  };
  float best = 0.0F;
  for (std::int64_t n = 1; n <= most; ++n)
    if (eligible(n)) best = std::max(best, efficiency(n));
  for (std::int64_t n = 1; n <= most; ++n)
    if (eligible(n) && efficiency(n) >= 0.85F * best) return n;
  return 1;
}

ForwardResult fa2_forward(const Problem& problem, const AttentionInputs& inputs, float scale,
                          std::uint32_t sms, const RunControl& control) {
  check_fa2(problem);
  check(problem, inputs, Pass::forward);
  const std::int64_t splits = fa2_forward_splits(problem, sms);
  const Fa2Forward recipe{input_type(inputs.q.dtype), scale, scale_in_log2(scale),
                          splits > 1 ? -infinity : infinity};
  if (splits == 1) {
    Problem tiled = problem;
    const TileShape tiles = unsplit_tiles(problem.head_dim);
    tiled.tile_q = tiles.q;
    tiled.tile_kv = tiles.kv;
    ForwardResult result = tiled_forward(recipe, tiled, inputs, control);
    return result;
  }
  ForwardResult result{Tensor(inputs.q.dtype, inputs.q.shape),
                       Tensor(DType::f32, {problem.batch, problem.heads, problem.seqlen_q})};
  SplitForward split(recipe, problem, inputs, splits);
  const auto blocks = static_cast<std::uint64_t>(split.row_blocks());
  parallel_for(static_cast<std::uint64_t>(problem.total_heads()) * blocks, control, [&](std::uint64_t unit) {
    split.run(static_cast<std::uint32_t>(unit / blocks), static_cast<std::int64_t>(unit % blocks), result);
  });
  return result;
}

}  // namespace dashlab
