// Solutions of the exercises of notebook 5: how a tensor core adds.
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "dashlab/emulator/float_types.hpp"
#include "dashlab/emulator/special_functions.hpp"
#include "dashlab/emulator/tensor_core.hpp"

using namespace dashlab;

namespace {

using Sixteen = std::array<std::uint16_t, 16>;

Sixteen all(float x) {
  Sixteen values{};
  values.fill(bf16_from_float(x));
  return values;
}

float step(const Sixteen& a, const Sixteen& b, float c) {
  return tensor_core_step(a, b, c, InputType::bf16);
}

}  // namespace

TEST_CASE("Exercise 5.1: 16 - 16 is zero, and yet it cuts the last bit of 1 + 2^-23 away") {
  Sixteen a = all(0);
  a[0] = bf16_from_float(16);
  a[1] = bf16_from_float(-16);
  CHECK(step(a, all(1), 1 + 0x1p-23f) == 1);  // E = 4: everything is cut to multiples of 2^-21
  CHECK(step(all(0), all(1), 1 + 0x1p-23f) == 1 + 0x1p-23f);
}

TEST_CASE("Exercise 5.2: sixteen ones a step stand still at 2^26, one by one at 2^24") {
  float sum = 0x1p25f;
  for (int i = 0; i < (1 << 21); ++i) sum = step(all(1), all(1), sum);
  CHECK(sum == 0x1p26f);
  CHECK(step(all(1), all(1), sum) == sum);
  CHECK(step(all(1), all(1), std::nextafter(sum, 0.0f)) != std::nextafter(sum, 0.0f));

  CHECK(0x1p24f - 1 + 1.0f == 0x1p24f);
  CHECK(0x1p24f + 1.0f == 0x1p24f);
}

TEST_CASE("Exercise 5.3: 2^x of the special-function unit is monotone in a binade") {
  float previous = 0;
  std::int64_t falls = 0;
  for (std::uint32_t i = 0; i < (1U << 23); ++i) {
    const float y = ex2_approx_ftz(float_of(bits_of(1.0f) | i));
    falls += y < previous ? 1 : 0;
    previous = y;
  }
  CHECK(falls == 0);
}

TEST_CASE("Exercise 5.3: the square of the unit's 2^0.5 is not 2") {
  const float root = ex2_approx_ftz(0.5f);
  CHECK(root * root != 2);
  CHECK(std::abs(root * root - 2) < 1e-6f);
}
