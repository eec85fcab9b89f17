// Recipe fa3, forward: everything .ftz, one multiply-add for the exponent (docs/numerics.md, section 5).
#include "dashlab/emulator/array_math.hpp"
#include "dashlab/emulator/fa3.hpp"
#include "dashlab/emulator/scalar_math.hpp"
#include "dashlab/emulator/special_functions.hpp"
#include "tiled_forward.hpp"

namespace dashlab {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
constexpr float ln2 = 0x1.62e430p-1F;  // 0x3f317218

struct Fa3Forward {
  using Element = std::uint16_t;
  InputType type;
  float scale_log2;

  [[nodiscard]] float mul(float a, float b) const { return mul_ftz(a, b); }
  [[nodiscard]] float add(float a, float b) const { return add_ftz(a, b); }
  [[nodiscard]] float fma(float a, float b, float c) const { return fma_ftz(a, b, c); }

  void rescale(std::span<float> row, float factor) const { mul_ftz(row, factor); }

  [[nodiscard]] float correction(float before, float now) const {
    return ex2_approx_ftz(mul(sub_ftz(before, now == minus_infinity ? 0.0F : now), scale_log2));
  }
  void probabilities(std::span<float> s, float maximum, Element* p) const {
    const float scaled = maximum == minus_infinity ? 0.0F : mul(maximum, scale_log2);
    fma_ftz(s, scale_log2, -scaled);
    ex2_approx_ftz(s, s);
    convert(s, {p, s.size()}, type);
  }
  struct End {
    float inverse, lse;
  };
  [[nodiscard]] End finish(float maximum, float sum) const {
    if (sum == 0.0F || sum != sum) return {0.0F, minus_infinity};
    return {rcp_approx_ftz(sum), fma(maximum, mul(scale_log2, ln2), mul(lg2_approx_ftz(sum), ln2))};
  }
  [[nodiscard]] Element round(float x) const { return from_float(x, type); }
};

}  // namespace

ForwardResult fa3_forward(const Problem& problem, const AttentionInputs& inputs, float scale,
                          const RunControl& control) {
  const Fa3Forward recipe{input_type(inputs.q.dtype), scale_in_log2(scale)};
  return tiled_forward(recipe, problem, inputs, control);
}

}  // namespace dashlab
