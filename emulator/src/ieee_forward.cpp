// Recipe dashlab on profile ieee-fp32, forward: the walk of fa3 in IEEE f32, with exp2 and ln that any device
// repeats.
#include "dashlab/emulator/ieee.hpp"
#include "dashlab/emulator/portable_math.hpp"
#include "tiled_forward.hpp"

namespace dashlab {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

struct IeeeForward {
  using Element = float;
  float scale;
  float scale_log2;

  [[nodiscard]] float mul(float a, float b) const { return portable::mul(a, b); }
  [[nodiscard]] float add(float a, float b) const { return portable::add(a, b); }
  [[nodiscard]] float fma(float a, float b, float c) const { return portable::fma(a, b, c); }

  void rescale(std::span<float> row, float factor) const {
    for (float& x : row) x = mul(x, factor);
  }

  [[nodiscard]] float correction(float before, float now) const {
    return portable::exp2(mul(portable::sub(before, now == minus_infinity ? 0.0F : now), scale_log2));
  }
  void probabilities(std::span<float> s, float maximum, float* p) const {
    const float scaled = maximum == minus_infinity ? 0.0F : mul(maximum, scale_log2);
    for (std::size_t i = 0; i < s.size(); ++i) p[i] = s[i] = portable::exp2(fma(s[i], scale_log2, -scaled));
  }
  struct End {
    float inverse, lse;
  };
  [[nodiscard]] End finish(float maximum, float sum) const {
    if (sum == 0.0F || sum != sum) return {0.0F, minus_infinity};
    return {portable::div(1.0F, sum), fma(maximum, scale, portable::ln(sum))};
  }
  [[nodiscard]] float round(float x) const { return portable::canonical(x); }
};

}  // namespace

ForwardResult ieee_forward(const Problem& problem, const AttentionInputs& inputs, float scale,
                           const RunControl& control) {
  return tiled_forward(IeeeForward{scale, scale_in_log2(scale)}, problem, inputs, control);
}

}  // namespace dashlab
