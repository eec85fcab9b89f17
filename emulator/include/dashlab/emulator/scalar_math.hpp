// f32 arithmetic as GPU threads do it (docs/numerics.md, section 3): IEEE 754 with one NaN, and the .ftz
// forms, which flush subnormal inputs and results to signed zeros.
#pragma once

#include <cmath>

#include "dashlab/emulator/float_types.hpp"

namespace dashlab {

/// The value itself, or 0x7fffffff for any NaN.
[[nodiscard]] inline float canonical(float value) noexcept {
  return value == value ? value : float_of(canonical_nan_bits);
}

/// A subnormal becomes a zero of its sign.
[[nodiscard]] inline float flushed(float value) noexcept {
  const std::uint32_t bits = bits_of(value);
  return (bits & 0x7f800000u) == 0 ? float_of(bits & 0x80000000u) : value;
}

/// add.rn, sub.rn, mul.rn, fma.rn, div.rn, sqrt.rn: IEEE 754, with the GPU's NaN.
[[nodiscard]] inline float add(float a, float b) noexcept {
  return canonical(a + b);
}
[[nodiscard]] inline float sub(float a, float b) noexcept {
  return canonical(a - b);
}
[[nodiscard]] inline float mul(float a, float b) noexcept {
  return canonical(a * b);
}
[[nodiscard]] inline float fma(float a, float b, float c) noexcept {
  return canonical(std::fma(a, b, c));
}
[[nodiscard]] inline float div(float a, float b) noexcept {
  return canonical(a / b);
}
[[nodiscard]] inline float sqrt(float a) noexcept {
  return canonical(std::sqrt(a));
}

/// add.rn.ftz, sub.rn.ftz. A sum of normal numbers is exact where it is subnormal, so flushing it is all
/// there is.
[[nodiscard]] inline float add_ftz(float a, float b) noexcept {
  return canonical(flushed(flushed(a) + flushed(b)));
}
[[nodiscard]] inline float sub_ftz(float a, float b) noexcept {
  return canonical(flushed(flushed(a) - flushed(b)));
}

namespace detail {
/// The rare end of fma_ftz: `result` = fma(a, b, c) is +-2^-126, or below.
[[nodiscard]] float flush_tiny_fma(float a, float b, float c, float result) noexcept;
inline constexpr float smallest_normal = 0x1p-126f;
}  // namespace detail

/// mul.rn.ftz, fma.rn.ftz. A result is flushed when it is tiny after rounding with unbounded exponent: a
/// value that IEEE arithmetic rounds up to 2^-126 is still flushed if 24 bits can tell it from 2^-126.
[[nodiscard]] inline float fma_ftz(float a, float b, float c) noexcept {
  a = flushed(a);
  b = flushed(b);
  c = flushed(c);
  const float result = std::fma(a, b, c);
  if (std::abs(result) <= detail::smallest_normal) return detail::flush_tiny_fma(a, b, c, result);
  return canonical(result);
}
[[nodiscard]] inline float mul_ftz(float a, float b) noexcept {
  a = flushed(a);
  b = flushed(b);
  const float result = a * b;
  if (std::abs(result) <= detail::smallest_normal) return detail::flush_tiny_fma(a, b, 0.0f, result);
  return canonical(result);
}

/// expf and logf as nvcc 13 compiles them without fast math (the sequence that its PTX shows).
[[nodiscard]] float exp_accurate(float x) noexcept;
[[nodiscard]] float log_accurate(float x) noexcept;

}  // namespace dashlab
