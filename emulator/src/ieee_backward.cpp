// Recipe dashlab on profile ieee-fp32, backward: the steps of fa3 in IEEE f32, nothing rounded in between.
#include <limits>
#include <numbers>

#include "dashlab/emulator/ieee.hpp"
#include "dashlab/emulator/portable_math.hpp"

namespace dashlab {

namespace {

class IeeeBackward final : public BackwardRecipe<float> {
 public:
  explicit IeeeBackward(float scale) : BackwardRecipe(DType::f32, scale), scale_log2_(scale_in_log2(scale)) {}

  [[nodiscard]] std::string_view name() const override { return "dashlab"; }

  [[nodiscard]] float lse_base2(float lse) const override {
    if (lse == -std::numeric_limits<float>::infinity()) return 0.0F;
    return portable::mul(lse, std::numbers::log2e_v<float>);
  }
  /// One fma chain over the columns, ascending, from +0.
  [[nodiscard]] float row_dot(std::span<const float> dout, std::span<const float> o) const override {
    float sum = 0.0F;
    for (std::size_t i = 0; i < dout.size(); ++i) sum = portable::fma(dout[i], o[i], sum);
    return sum;
  }
  void probabilities(std::span<float> s, std::span<float> dp, float lse2, float dpsum, float* p,
                     float* ds) const override {
    for (std::size_t i = 0; i < s.size(); ++i) {
      p[i] = portable::exp2(portable::fma(s[i], scale_log2_, -lse2));
      ds[i] = portable::mul(p[i], portable::sub(dp[i], dpsum));
    }
  }
  void finish(std::span<const float> accumulator, bool scaled, float* out) const override {
    for (const float a : accumulator) *out++ = portable::canonical(scaled ? portable::mul(a, scale()) : a);
  }

 private:
  float scale_log2_;
};

}  // namespace

std::unique_ptr<BackwardRecipe<float>> ieee_backward_recipe(float scale) {
  return std::make_unique<IeeeBackward>(scale);
}

}  // namespace dashlab
