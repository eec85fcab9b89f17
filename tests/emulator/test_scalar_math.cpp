// f32 arithmetic of GPU threads: flushing, the one NaN, expf and logf.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "dashlab/emulator/scalar_math.hpp"

using namespace dashlab;

namespace {
constexpr float infinity = std::numeric_limits<float>::infinity();
const float nan_value = float_of(0xffc00001u);
constexpr std::uint32_t smallest_normal = 0x00800000u;
}  // namespace

TEST_CASE("every NaN is the same NaN") {
  CHECK(bits_of(add(infinity, -infinity)) == canonical_nan_bits);
  CHECK(bits_of(mul(nan_value, 1.0f)) == canonical_nan_bits);
  CHECK(bits_of(fma_ftz(infinity, 0.0f, 1.0f)) == canonical_nan_bits);
  CHECK(bits_of(sub_ftz(nan_value, 1.0f)) == canonical_nan_bits);
}

TEST_CASE("ftz flushes inputs and results to zeros of their sign") {
  const float subnormal = float_of(0x80400000u);
  CHECK(bits_of(add_ftz(subnormal, -0.0f)) == 0x80000000u);
  CHECK(bits_of(sub_ftz(float_of(0x00800001u), float_of(0x00800000u))) == 0u);
  CHECK(bits_of(sub_ftz(float_of(0x00800000u), float_of(0x00800001u))) == 0x80000000u);
  CHECK(bits_of(mul_ftz(0x1p-100f, -0x1p-40f)) == 0x80000000u);
  CHECK(mul_ftz(subnormal, 0x1p100f) == 0.0f);
  CHECK(fma_ftz(1.0f, 1.0f, subnormal) == 1.0f);
}

TEST_CASE("a product that only a subnormal's coarse grid rounds up to 2^-126 is flushed") {
  // (1 - 2^-24) * 2^-126 lies between the midpoints of the two grids: IEEE rounds it up, with unbounded
  // exponent it is a number of its own and tiny.
  const float below_one = 0x1.fffffep-1f;  // 1 - 2^-24
  CHECK(bits_of(below_one * 0x1p-126f) == smallest_normal);
  CHECK(bits_of(mul_ftz(below_one, 0x1p-126f)) == 0u);
  CHECK(bits_of(mul_ftz(-below_one, 0x1p-126f)) == 0x80000000u);
  CHECK(bits_of(fma_ftz(below_one, 0x1p-126f, 0.0f)) == 0u);
  // (1 - 2^-46) * 2^-126 rounds to 2^-126 on either grid and stays.
  CHECK(bits_of(mul_ftz(0x1.000002p-63f, 0x1.fffffcp-64f)) == smallest_normal);
  CHECK(bits_of(fma_ftz(0x1.000002p-63f, -0x1.fffffcp-64f, 0.0f)) == (smallest_normal | 0x80000000u));
}

TEST_CASE("exp and log are within an ulp or two of the truth") {
  for (int i = -2000; i <= 2000; ++i) {
    const float x = static_cast<float>(i) * 0.04f;
    const double exact = std::exp(static_cast<double>(x));
    CHECK(std::abs(exp_accurate(x) - exact) <= exact * 0x1p-22);
    const float y = static_cast<float>(i + 2001) * 0.013f;
    const double logarithm = std::log(static_cast<double>(y));
    CHECK(std::abs(log_accurate(y) - logarithm) <= std::abs(logarithm) * 0x1p-22 + 0x1p-126);
  }
}

TEST_CASE("exp and log at their edges") {
  CHECK(exp_accurate(0.0f) == 1.0f);
  CHECK(exp_accurate(-infinity) == 0.0f);
  CHECK(exp_accurate(infinity) == infinity);
  CHECK(exp_accurate(100.0f) == infinity);
  CHECK(exp_accurate(-100.0f) > 0.0f);  // subnormal, kept
  CHECK(bits_of(exp_accurate(nan_value)) == canonical_nan_bits);
  CHECK(log_accurate(1.0f) == 0.0f);
  CHECK(log_accurate(0.0f) == -infinity);
  CHECK(log_accurate(-0.0f) == -infinity);
  CHECK(log_accurate(infinity) == infinity);
  CHECK(bits_of(log_accurate(-1.0f)) == canonical_nan_bits);
  CHECK(bits_of(log_accurate(nan_value)) == canonical_nan_bits);
  CHECK(std::abs(log_accurate(0x1p-149f) + 103.2789f) < 1e-4f);
}
