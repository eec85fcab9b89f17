// Array arithmetic has the bits of the scalar forms on every vector unit: arguments from all of f32, near
// 2^-126 too.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "dashlab/emulator/array_math.hpp"
#include "dashlab/emulator/float_types.hpp"
#include "dashlab/emulator/scalar_math.hpp"
#include "dashlab/emulator/simd.hpp"
#include "dashlab/emulator/special_functions.hpp"

using namespace dashlab;

namespace {

/// Floats of all kinds; those of one `kind` are near each other, so that sums cancel and products end near
/// 2^-126.
std::vector<float> numbers(std::uint32_t seed, std::uint32_t kind) {
  std::vector<float> values;
  std::uint32_t bits = seed;
  for (int i = 0; i < 20'011; ++i) {
    bits = bits * 1664525u + 1013904223u;
    const std::uint32_t fraction =
        (bits >> 8) % 4 == 0 ? (bits & 0x807fffffu) : (bits & 0x80000000u) | 0x7fffffu;
    switch (kind) {
      case 0:
        values.push_back(float_of(bits));
        break;
      case 1:
        values.push_back(float_of(fraction | ((60u + bits % 8u) << 23)));
        break;  // products near 2^-126
      case 2:
        values.push_back(float_of(fraction | ((bits % 4u) << 23)));
        break;  // near 2^-126, subnormals
      default:
        values.push_back(float_of((bits & 0x807fffffu) | ((120u + bits % 16u) << 23)));
        break;
    }
  }
  return values;
}

using ArrayForm = std::function<void(const std::vector<float>& x, std::vector<float>& y, float a, float b)>;
using ScalarForm = std::function<float(float x, float y, float a, float b)>;

/// Elements in which the two forms differ, over all kinds of arguments and vector units.
int differences(const ArrayForm& array, const ScalarForm& scalar) {
  int wrong = 0;
  for (const std::string& target : simd_targets()) {
    force_simd_target(target);
    for (std::uint32_t kind = 0; kind < 4; ++kind) {
      const auto x = numbers(11 + kind, kind);
      const auto constants = numbers(77, kind == 0 ? 3 : kind);
      for (std::size_t c = 0; c < 12; c += 2) {
        auto y = numbers(5 + static_cast<std::uint32_t>(c), kind);
        const auto before = y;
        array(x, y, constants[c], constants[c + 1]);
        for (std::size_t i = 0; i < y.size(); ++i) {
          if (bits_of(y[i]) != bits_of(scalar(x[i], before[i], constants[c], constants[c + 1]))) ++wrong;
        }
      }
    }
  }
  force_simd_target("");
  return wrong;
}

}  // namespace

TEST_CASE("flushed multiply and multiply-add of arrays") {
  CHECK(differences([](const auto&, auto& y, float a, float b) { fma_ftz(y, a, b); },
                    [](float, float y, float a, float b) { return fma_ftz(y, a, b); }) == 0);
  CHECK(differences([](const auto&, auto& y, float a, float) { mul_ftz(y, a); },
                    [](float, float y, float a, float) { return mul_ftz(y, a); }) == 0);
}

TEST_CASE("plain multiply and multiply-subtract of arrays") {
  CHECK(differences([](const auto&, auto& y, float a, float) { mul(y, a); },
                    [](float, float y, float a, float) { return mul(y, a); }) == 0);
  CHECK(differences([](const auto&, auto& y, float a, float b) { mul_sub(y, a, b); },
                    [](float, float y, float a, float b) { return sub(mul(y, a), b); }) == 0);
}

TEST_CASE("score gradients of arrays") {
  CHECK(differences([](const auto& x, auto& y, float a, float) { score_gradient_ftz(x, y, a); },
                    [](float x, float y, float a, float) { return mul_ftz(x, sub_ftz(y, a)); }) == 0);
  CHECK(differences([](const auto& x, auto& y, float a, float) { score_gradient(x, y, a); },
                    [](float x, float y, float a, float) { return mul(x, sub(y, a)); }) == 0);
}

TEST_CASE("powers of two of arrays") {
  CHECK(differences([](const auto& x, auto& y, float, float) { ex2_approx_ftz(x, y); },
                    [](float x, float, float, float) { return ex2_approx_ftz(x); }) == 0);
  CHECK(differences([](const auto& x, auto& y, float, float) { exp2_accurate(x, y); },
                    [](float x, float, float, float) { return exp2_accurate(x); }) == 0);
}

TEST_CASE("conversions of arrays") {
  for (const InputType type : {InputType::bf16, InputType::fp16}) {
    CHECK(differences(
              [&](const auto& x, auto& y, float, float) {
                std::vector<std::uint16_t> narrow(x.size());
                convert(x, narrow, type);
                convert(narrow, y, type);
              },
              [&](float x, float, float, float) { return to_float(from_float(x, type), type); }) == 0);
  }
}
