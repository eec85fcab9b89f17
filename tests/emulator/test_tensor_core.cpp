// The scalar model of one tensor-core step: what a person can check by hand, and what an H200 recorded.
#include <doctest/doctest.h>

#include <array>
#include <string>

#include "dashlab/core/error.hpp"
#include "dashlab/emulator/selftest.hpp"
#include "dashlab/emulator/tensor_core.hpp"

using namespace dashlab;

namespace {

constexpr std::uint16_t one = 0x3f80;
constexpr std::uint16_t minus_one = 0xbf80;
constexpr std::uint16_t infinity = 0x7f80;
using Sixteen = std::array<std::uint16_t, step_depth>;

/// bf16 2^exponent.
std::uint16_t power(int exponent) {
  return static_cast<std::uint16_t>((exponent + 127) << 7);
}

/// The step's result for the first one or two products, all others 0.
std::uint32_t step(Sixteen a, Sixteen b, float c) {
  return bits_of(tensor_core_step(a, b, c, InputType::bf16));
}

}  // namespace

TEST_CASE("a step adds sixteen products to c") {
  Sixteen ones;
  ones.fill(one);
  CHECK(step(ones, ones, 0.5f) == bits_of(16.5f));
}

TEST_CASE("bits below 2^(E-25) of a term are cut") {
  CHECK(step({one, power(-25)}, {one, one}, 0.0f) == bits_of(1.0f));  // kept, then rounded away
  CHECK(step({one, minus_one, power(-25)}, {one, one, one}, 0.0f) == bits_of(0x1p-25f));
  CHECK(step({one, minus_one, power(-26)}, {one, one, one}, 0.0f) == 0u);
}

TEST_CASE("the sum is rounded toward zero") {
  CHECK(step({minus_one, power(-24)}, {one, one}, 0.0f) == bits_of(-0x1.fffffep-1f));
  CHECK(step({one, power(-24)}, {one, one}, 0.0f) == bits_of(1.0f));
}

TEST_CASE("zero terms have no part in E") {
  // 0 * 2^100 would raise E and cut the rest if it took part.
  CHECK(step({0x0000, one}, {power(100), one}, 0x1p-20f) == bits_of(1.0f + 0x1p-20f));
}

TEST_CASE("special values follow the GPU") {
  CHECK(step({infinity}, {one}, 0.0f) == 0x7f800000u);
  CHECK(step({infinity}, {minus_one}, 1.0f) == 0xff800000u);
  CHECK(step({infinity}, {0x0000}, 0.0f) == canonical_nan_bits);
  CHECK(step({infinity, infinity}, {one, minus_one}, 0.0f) == canonical_nan_bits);
  CHECK(step({0x7fc1}, {one}, 0.0f) == canonical_nan_bits);
  CHECK(step({power(127)}, {power(100)}, float_of(0xff800000)) ==
        0xff800000u);                                            // a finite product isn't infinite
  CHECK(step({power(127)}, {power(100)}, 0.0f) == 0x7f800000u);  // but its sum may be
}

TEST_CASE("zeros are positive") {
  CHECK(step({}, {}, -0.0f) == 0u);
  CHECK(step({one, minus_one}, {one, one}, 0.0f) == 0u);
  CHECK(step({power(-100)}, {static_cast<std::uint16_t>(power(-60) | 0x8000u)}, 0.0f) == 0u);  // below 2^-149
}

TEST_CASE("subnormals are kept") {
  CHECK(step({0x0001}, {one}, 0.0f) == bits_of(0x1p-133f));
  CHECK(step({power(-100)}, {power(-49)}, 0.0f) == 1u);
}

TEST_CASE("a chain hands each step's result to the next") {
  // 2^-24 is lost when added to 1 in a step of its own, every time.
  std::array<std::uint16_t, 48> a{};
  std::array<std::uint16_t, 48> b{};
  a[0] = one;
  a[16] = a[32] = power(-24);
  b[0] = b[16] = b[32] = one;
  CHECK(bits_of(tensor_core_chain(a, b, 0.0f, InputType::bf16)) == bits_of(1.0f));
  std::swap(a[0], a[32]);
  CHECK(bits_of(tensor_core_chain(a, b, 0.0f, InputType::bf16)) == bits_of(1.0f + 0x1p-23f));
}

TEST_CASE("all 15,750 recorded vectors agree, in the model and in the kernel") {
  const auto results = selftest_vectors(std::string(DASHLAB_TEST_DATA) + "/hopper/tensor_core_vectors.bin");
  REQUIRE(results.size() == 2);
  for (const SelfTestResult& result : results) {
    INFO(result.name, ": ", result.first_difference);
    CHECK(result.cases == 15'750);
    CHECK(result.differ == 0);
  }
}

TEST_CASE("files that hold no vectors are refused with their place") {
  const std::string folder = DASHLAB_TEST_DATA;
  CHECK_THROWS_AS(static_cast<void>(selftest_vectors(folder)), BadInput);
  CHECK_THROWS_AS(static_cast<void>(selftest_vectors(folder + "/hopper/none.bin")), BadInput);
  CHECK_THROWS_WITH_AS(static_cast<void>(selftest_vectors(folder + "/hopper/mufu_coefficients.csv")),
                       doctest::Contains("in record 0"), BadInput);
}
