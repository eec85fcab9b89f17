// Recipe fa3, backward: everything .ftz, probabilities from the special-function unit (docs/numerics.md,
// section 4).
#include <array>
#include <cmath>
#include <numbers>

#include "dashlab/emulator/fa3.hpp"
#include "dashlab/emulator/scalar_math.hpp"
#include "dashlab/emulator/special_functions.hpp"
#include "fa3_rows.hpp"

namespace dashlab {

namespace {

/// dpsum is summed by this many threads per row, each taking every T-th chunk of eight columns.
int preprocess_threads(std::int64_t head_dim) {
  if (head_dim % 128 == 0) return 16;
  return head_dim % 64 == 0 ? 8 : 4;
}

class Fa3Backward final : public BackwardRecipe<std::uint16_t> {
 public:
  Fa3Backward(DType dtype, std::int64_t head_dim, float scale)
      : BackwardRecipe(dtype, scale),
        type_(input_type(dtype)),
        scale_log2_(scale_in_log2(scale)),
        threads_(preprocess_threads(head_dim)) {}

  [[nodiscard]] std::string_view name() const override { return "fa3"; }

  [[nodiscard]] float lse_base2(float lse) const override {
    if (lse == -std::numeric_limits<float>::infinity()) return 0.0F;
    return mul_ftz(lse, std::numbers::log2e_v<float>);
  }

  [[nodiscard]] float row_dot(std::span<const std::uint16_t> dout,
                              std::span<const std::uint16_t> o) const override {
    constexpr std::size_t chunk = 8;
    std::array<float, 16> sum{};
    const auto threads = static_cast<std::size_t>(threads_);
    for (std::size_t i = 0; i < dout.size(); ++i) {
      const std::size_t thread = i / chunk % threads;
      const float a = to_float(dout[i], type_);
      const float b = to_float(o[i], type_);
      sum[thread] = i == thread * chunk ? mul_ftz(a, b) : fma_ftz(a, b, sum[thread]);
    }
    for (std::size_t stride = threads / 2; stride > 0; stride /= 2) {
      std::array<float, 16> other = sum;
      for (std::size_t t = 0; t < threads; ++t) sum[t] = add_ftz(sum[t], other[t ^ stride]);
    }
    return sum[0];
  }

  void probabilities(std::span<float> s, std::span<float> dp, float lse2, float dpsum, std::uint16_t* p,
                     std::uint16_t* ds) const override {
    fa3_probabilities(s, dp, scale_log2_, lse2, dpsum, type_, p, ds);
  }

  void finish(std::span<const float> accumulator, bool scaled, std::uint16_t* out) const override {
    for (const float a : accumulator) *out++ = from_float(scaled ? mul_ftz(a, scale()) : a, type_);
  }

 private:
  InputType type_;
  float scale_log2_;
  int threads_;
};

}  // namespace

std::unique_ptr<BackwardRecipe<std::uint16_t>> fa3_backward_recipe(DType dtype, std::int64_t head_dim,
                                                                   float scale) {
  return std::make_unique<Fa3Backward>(dtype, head_dim, scale);
}

TileShape fa3_backward_tiles(std::int64_t head_dim, bool causal) {
  if (head_dim <= 64) return {128, 128};
  return causal ? TileShape{64, 128} : TileShape{80, 128};
}

TileShape fa3_forward_tiles(std::int64_t head_dim, bool causal) {
  if (head_dim <= 64) return causal ? TileShape{192, 128} : TileShape{192, 192};
  return causal ? TileShape{128, 128} : TileShape{128, 176};
}

}  // namespace dashlab
