// The 16-bit float types of the tensor core, and their conversions to and from f32 as the GPU does them
// (docs/numerics.md, section 3): round to nearest even, subnormals kept, one NaN.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace dashlab {

/// The 16-bit input type of the tensor core.
enum class InputType : std::uint8_t { bf16, fp16 };

/// "bf16" or "fp16".
[[nodiscard]] constexpr const char* name_of(InputType type) noexcept {
  return type == InputType::bf16 ? "bf16" : "fp16";
}

/// How a 16-bit type is laid out: sign, exponent, fraction, from the top bit down.
struct FloatLayout {
  int fraction_bits;
  int exponent_bits;
  int bias;

  /// The exponent of subnormals and of the smallest normals.
  [[nodiscard]] constexpr int min_exponent() const noexcept { return 1 - bias; }
};

[[nodiscard]] constexpr FloatLayout layout_of(InputType type) noexcept {
  return type == InputType::bf16 ? FloatLayout{7, 8, 127} : FloatLayout{10, 5, 15};
}

/// The NaN that the GPU gives wherever f32 arithmetic gives a NaN.
inline constexpr std::uint32_t canonical_nan_bits = 0x7fffffffu;
/// The NaN of cvt.rn.bf16.f32 and cvt.rn.f16.f32 (PTX ISA, cvt).
inline constexpr std::uint16_t canonical_nan16_bits = 0x7fffu;

[[nodiscard]] constexpr std::uint32_t bits_of(float value) noexcept {
  return std::bit_cast<std::uint32_t>(value);
}
[[nodiscard]] constexpr float float_of(std::uint32_t bits) noexcept {
  return std::bit_cast<float>(bits);
}

/// cvt.rn.bf16.f32: nearest, ties to even; overflow to infinity; any NaN to 0x7fff.
[[nodiscard]] constexpr std::uint16_t bf16_from_float(float value) noexcept {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return canonical_nan16_bits;
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// Exact. A NaN keeps its payload, as on the GPU, where this is a shift.
[[nodiscard]] constexpr float float_from_bf16(std::uint16_t bits) noexcept {
  return float_of(static_cast<std::uint32_t>(bits) << 16);
}

/// cvt.rn.f16.f32: nearest, ties to even; subnormals kept; overflow to infinity; any NaN to 0x7fff.
[[nodiscard]] constexpr std::uint16_t fp16_from_float(float value) noexcept {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  if (magnitude > 0x7f800000u) return canonical_nan16_bits;
  if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 2^16 and above
  // A normal result drops 13 fraction bits, a subnormal one more for each exponent below -14.
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  std::uint32_t significand = 0;
  int drop = 13;
  if (exponent >= -14) {
    significand = magnitude - ((127u - 15u) << 23);
  } else {
    drop = -1 - exponent;
    if (drop > 25) return static_cast<std::uint16_t>(sign);
    significand = (magnitude & 0x7fffffu) | 0x800000u;
  }
  const std::uint32_t half_minus_one = (1u << (drop - 1)) - 1u;
  return static_cast<std::uint16_t>(sign |
                                    ((significand + half_minus_one + ((significand >> drop) & 1u)) >> drop));
}

/// Exact; a NaN becomes 0x7fffffff.
[[nodiscard]] constexpr float float_from_fp16(std::uint16_t bits) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude > 0x7c00u) return float_of(canonical_nan_bits);
  if (magnitude == 0x7c00u) return float_of(sign | 0x7f800000u);
  if (magnitude >= 0x0400u) return float_of(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
  const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
  return float_of(sign | bits_of(subnormal));
}

[[nodiscard]] constexpr std::uint16_t from_float(float value, InputType type) noexcept {
  return type == InputType::bf16 ? bf16_from_float(value) : fp16_from_float(value);
}
[[nodiscard]] constexpr float to_float(std::uint16_t bits, InputType type) noexcept {
  return type == InputType::bf16 ? float_from_bf16(bits) : float_from_fp16(bits);
}

/// Arrays of the same conversions; `from` and `to` have the same length (std::invalid_argument otherwise).
void convert(std::span<const float> from, std::span<std::uint16_t> to, InputType type);
void convert(std::span<const std::uint16_t> from, std::span<float> to, InputType type);

}  // namespace dashlab
