// The special-function unit in plain integers.
#include "dashlab/emulator/special_functions.hpp"

#include <bit>
#include <cstdint>

#include "dashlab/emulator/float_types.hpp"
#include "dashlab/emulator/scalar_math.hpp"
#include "special_function_tables.hpp"

namespace dashlab {
namespace {

constexpr std::uint32_t sign_bit = 0x80000000u;
constexpr std::uint32_t infinity_bits = 0x7f800000u;
constexpr std::uint32_t fraction_mask = 0x7fffffu;

/// The shifts and the rounding constant of one function's interpolator; names as in docs/numerics.md.
struct Interpolator {
  int x_bits;        // X
  int square_shift;  // XS
  int c0_shift;      // S0
  int c2_shift;      // S2
  int result_shift;  // SH
  std::int64_t rounding;
};
constexpr Interpolator ex2_interpolator{17, 0, 13, 0, 15, 0x17e2};
constexpr Interpolator rcp_interpolator{16, 1, 13, 0, 15, 0x07e7};
constexpr Interpolator lg2_interpolator{17, 0, 12, 1, 2, 0x0345};
constexpr Interpolator rsqrt_interpolator{17, 0, 14, 2, 16, 0x3fff};

/// x * x / 2^19, its partial products cut one by one as the unit's squarer does.
std::int64_t truncated_square(std::uint32_t x) noexcept {
  std::uint32_t sum = 0;
  for (int bit = 0; bit <= 16; ++bit) {
    if (((x >> bit) & 1u) != 0) sum += x >> (18 - bit);
  }
  return sum >> 1;
}

template <std::size_t segments>
std::int64_t interpolate(const Interpolator& unit, const std::array<detail::Coefficients, segments>& table,
                         std::uint32_t index) noexcept {
  const detail::Coefficients& c = table[index >> unit.x_bits];
  const std::uint32_t x = index & ((1u << unit.x_bits) - 1u);
  const std::int64_t value =
      c.c0 * (std::int64_t{1} << unit.c0_shift) + c.c1 * std::int64_t{x} +
      c.c2 * truncated_square(x << unit.square_shift) * (std::int64_t{1} << unit.c2_shift) + unit.rounding;
  return value >> unit.result_shift;
}

bool is_nan_bits(std::uint32_t bits) noexcept {
  return (bits & ~sign_bit) > infinity_bits;
}
bool is_flushed(std::uint32_t bits) noexcept {
  return (bits & infinity_bits) == 0;
}

}  // namespace

float ex2_approx_ftz(float x) noexcept {
  const std::uint32_t bits = bits_of(x);
  const std::uint32_t magnitude = bits & ~sign_bit;
  const bool negative = (bits & sign_bit) != 0;
  if (is_nan_bits(bits)) return float_of(canonical_nan_bits);
  if (is_flushed(bits)) return 1.0f;
  constexpr std::uint32_t bits_of_128 = 0x43000000u;
  if (magnitude >= bits_of_128) return negative ? 0.0f : float_of(infinity_bits);

  // |x| < 128 in units of 2^-23, cut.
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  const std::uint64_t significand = (magnitude & fraction_mask) | (1u << 23);
  std::uint64_t fixed = 0;
  if (exponent >= 0) {
    fixed = significand << exponent;
  } else if (exponent > -24) {
    fixed = significand >> -exponent;
  }
  auto integer = static_cast<int>(fixed >> 23);
  auto index = static_cast<std::uint32_t>(fixed) & fraction_mask;
  if (negative) {
    integer = index != 0 ? -integer - 1 : -integer;
    if (index != 0) index = ~index & fraction_mask;
  }
  if (integer < -126) return 0.0f;
  const std::int64_t result = interpolate(ex2_interpolator, detail::ex2_coefficients, index);
  return float_of(static_cast<std::uint32_t>(result - (1 << 23)) +
                  (static_cast<std::uint32_t>(integer + 127) << 23));
}

float lg2_approx_ftz(float x) noexcept {
  const std::uint32_t bits = bits_of(x);
  if (is_nan_bits(bits)) return float_of(canonical_nan_bits);
  if (is_flushed(bits)) return float_of(sign_bit | infinity_bits);
  if ((bits & sign_bit) != 0) return float_of(canonical_nan_bits);
  if (bits == infinity_bits) return x;
  if (bits == bits_of(1.0f)) return 0.0f;

  // exponent + fraction in units of 2^-36.
  const std::int64_t exponent = static_cast<std::int64_t>(bits >> 23) - 127;
  const std::int64_t fraction = interpolate(lg2_interpolator, detail::lg2_coefficients, bits & fraction_mask);
  std::int64_t value = exponent * (std::int64_t{1} << 36) + fraction;
  const bool negative = exponent < 0;
  if (negative) value = ~value;
  const auto magnitude = static_cast<std::uint64_t>(value);
  if (magnitude == 0) return 0.0f;
  const int top_bit = 63 - std::countl_zero(magnitude);
  const std::uint64_t kept = top_bit >= 23 ? magnitude >> (top_bit - 23) : magnitude << (23 - top_bit);
  const auto field = static_cast<std::uint32_t>(top_bit - 36 + 127);
  return float_of((negative ? sign_bit : 0u) | (field << 23) |
                  (static_cast<std::uint32_t>(kept) & fraction_mask));
}

float rcp_approx_ftz(float x) noexcept {
  const std::uint32_t bits = bits_of(x);
  const std::uint32_t sign = bits & sign_bit;
  if (is_nan_bits(bits)) return float_of(canonical_nan_bits);
  if (is_flushed(bits)) return float_of(sign | infinity_bits);
  if ((bits & ~sign_bit) == infinity_bits) return float_of(sign);
  const std::int64_t result = interpolate(rcp_interpolator, detail::rcp_coefficients, bits & fraction_mask);
  const auto of_mantissa = 0x3f000000u + static_cast<std::uint32_t>(result - (1 << 23));
  const int exponent = static_cast<int>((bits & ~sign_bit) >> 23) - 127;
  const int field = static_cast<int>(of_mantissa >> 23) - exponent;
  if (field <= 0) return float_of(sign);
  return float_of(sign | (static_cast<std::uint32_t>(field) << 23) | (of_mantissa & fraction_mask));
}

float rsqrt_approx_ftz(float x) noexcept {
  const std::uint32_t bits = bits_of(x);
  const std::uint32_t sign = bits & sign_bit;
  if (is_nan_bits(bits)) return float_of(canonical_nan_bits);
  if (is_flushed(bits)) return float_of(sign | infinity_bits);
  if (sign != 0) return float_of(canonical_nan_bits);
  if (bits == infinity_bits) return 0.0f;
  // x = m * 4^h with m in [1, 4): an odd exponent is the upper half of the table.
  const int exponent = static_cast<int>(bits >> 23) - 127;
  const int half = exponent >> 1;
  const std::uint32_t parity = static_cast<std::uint32_t>(exponent) & 1u;
  const std::uint32_t index = (parity << 23) | (bits & fraction_mask);
  if (index == 0) return float_of(static_cast<std::uint32_t>(127 - half) << 23);
  const std::int64_t result = interpolate(rsqrt_interpolator, detail::rsqrt_coefficients, index);
  const auto of_mantissa = 0x3f000000u + static_cast<std::uint32_t>(result - (1 << 23));
  return float_of(of_mantissa - (static_cast<std::uint32_t>(half) << 23));
}

float exp2_accurate(float x) noexcept {
  if (!(x < -126.0f)) return ex2_approx_ftz(x);
  const float root = ex2_approx_ftz(x * 0.5f);
  return root * root;
}

}  // namespace dashlab
