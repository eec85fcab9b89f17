// Conversions between f32 and the 16-bit types.
#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "dashlab/emulator/float_types.hpp"

using namespace dashlab;

namespace {

/// The nearest of all 65,536 patterns to `value`, ties to the even one, found by walking the neighbours in
/// double.
std::uint16_t nearest_by_search(float value, InputType type) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000u : 0u;
  const double magnitude = std::abs(static_cast<double>(value));
  const std::uint16_t infinity = type == InputType::bf16 ? 0x7f80u : 0x7c00u;
  // Where infinity would lie if the exponents went on: what is nearer to it than to the largest number
  // overflows.
  const double beyond = type == InputType::bf16 ? 0x1p128 : 0x1p16;
  const auto as_double = [&](std::uint16_t bits) {
    return bits == infinity ? beyond : static_cast<double>(to_float(bits, type));
  };
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | infinity);
  std::uint16_t low = 0;
  std::uint16_t high = infinity;
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (as_double(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - as_double(low);
  const double above = as_double(high) - magnitude;
  const bool take_low = below < above || (below == above && low % 2 == 0);
  return static_cast<std::uint16_t>(sign | (take_low ? low : high));
}

}  // namespace

TEST_CASE("every 16-bit pattern survives the way to f32 and back") {
  for (const InputType type : {InputType::bf16, InputType::fp16}) {
    const FloatLayout layout = layout_of(type);
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
      const auto pattern = static_cast<std::uint16_t>(bits);
      const bool nan = (bits & 0x7fffu) > (((1u << layout.exponent_bits) - 1u) << layout.fraction_bits);
      const std::uint16_t expected = nan ? canonical_nan16_bits : pattern;
      if (from_float(to_float(pattern, type), type) != expected) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("f32 rounds to the nearest 16-bit value, ties to even") {
  for (const InputType type : {InputType::bf16, InputType::fp16}) {
    int wrong = 0;
    std::uint32_t bits = 0;
    for (int i = 0; i < 200'000; ++i) {
      const float value = float_of(bits += 2654435761u);
      if (value != value) continue;
      // The value itself, and the two ends and the middle of its interval.
      for (const std::uint32_t low : {bits & 0xffffu, 0x0000u, 0x8000u, 0x7fffu, 0x8001u}) {
        const float probe = float_of((bits & 0xffff0000u) | low);
        if (probe == probe && from_float(probe, type) != nearest_by_search(probe, type)) ++wrong;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("known conversions") {
  CHECK(bf16_from_float(1.0f) == 0x3f80);
  CHECK(bf16_from_float(float_of(0x3f808000)) == 0x3f80);  // tie, even stays
  CHECK(bf16_from_float(float_of(0x3f818000)) == 0x3f82);  // tie, odd goes up
  CHECK(bf16_from_float(float_of(0x7f7fffff)) == 0x7f80);  // overflow
  CHECK(bf16_from_float(float_of(0xffc12345)) == 0x7fff);  // any NaN
  CHECK(fp16_from_float(65504.0f) == 0x7bff);
  CHECK(fp16_from_float(65520.0f) == 0x7c00);
  CHECK(fp16_from_float(0x1p-24f) == 0x0001);
  CHECK(fp16_from_float(0x1p-25f) == 0x0000);  // tie with zero
  CHECK(fp16_from_float(-0x1.8p-25f) == 0x8001);
  CHECK(bits_of(float_from_fp16(0x7e00)) == canonical_nan_bits);
}

TEST_CASE("arrays convert as single values do") {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < 70'001; ++i) values.push_back(float_of(i * 61'357u * 2654435761u));
  for (const InputType type : {InputType::bf16, InputType::fp16}) {
    std::vector<std::uint16_t> narrow(values.size());
    convert(values, narrow, type);
    std::vector<float> wide(values.size());
    convert(narrow, wide, type);
    int wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (narrow[i] != from_float(values[i], type)) ++wrong;
      if (bits_of(wide[i]) != bits_of(to_float(narrow[i], type))) ++wrong;
    }
    CHECK(wrong == 0);
    CHECK_THROWS_AS(convert(values, std::span(narrow).first(3), type), std::invalid_argument);
  }
}
