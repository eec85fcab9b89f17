// The scalar arithmetic of profile `ieee-fp32`: add, mul, fma and divide in IEEE 754 round-to-nearest, and
// exp2 and ln made of nothing else, so that any CPU and any CUDA GPU give the same bits. Plain functions for
// host and device code.
#pragma once

#include <cstdint>

#include "dashlab/emulator/seeded_values.hpp"  // DASHLAB_HOST_DEVICE

#if !defined(__CUDA_ARCH__)
#include <bit>
#include <cmath>
#endif

namespace dashlab::portable {

// One rounding each; on the device the intrinsics keep the compiler from fusing.
#if defined(__CUDA_ARCH__)
__device__ inline float add(float a, float b) {
  return __fadd_rn(a, b);
}
__device__ inline float sub(float a, float b) {
  return __fsub_rn(a, b);
}
__device__ inline float mul(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ inline float div(float a, float b) {
  return __fdiv_rn(a, b);
}
__device__ inline float fma(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
__device__ inline std::uint32_t to_bits(float x) {
  return __float_as_uint(x);
}
__device__ inline float from_bits(std::uint32_t x) {
  return __uint_as_float(x);
}
#define DASHLAB_PORTABLE __device__ inline
#else
inline float add(float a, float b) {
  return a + b;
}
inline float sub(float a, float b) {
  return a - b;
}
inline float mul(float a, float b) {
  return a * b;
}
inline float div(float a, float b) {
  return a / b;
}
inline float fma(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline std::uint32_t to_bits(float x) {
  return std::bit_cast<std::uint32_t>(x);
}
inline float from_bits(std::uint32_t x) {
  return std::bit_cast<float>(x);
}
#define DASHLAB_PORTABLE inline
#endif

/// Every NaN becomes this pattern, as on the GPU.
DASHLAB_PORTABLE float canonical(float x) {
  return x != x ? from_bits(0x7fffffffu) : x;
}

/// Coefficients ln(2)^k / k! in f32, k = 7 down to 1, of exp2 on [-1/2, 1/2].
inline constexpr float exp2_c7 = 0x1.ffcbfcp-17F;
inline constexpr float exp2_c6 = 0x1.430912p-13F;
inline constexpr float exp2_c5 = 0x1.5d87fep-10F;
inline constexpr float exp2_c4 = 0x1.3b2ab6p-7F;
inline constexpr float exp2_c3 = 0x1.c6b08ep-5F;
inline constexpr float exp2_c2 = 0x1.ebfbep-3F;
inline constexpr float exp2_c1 = 0x1.62e43p-1F;
/// Adding and subtracting it rounds |x| < 2^22 to an integer, ties to even.
inline constexpr float rounding_magic = 0x1.8p23F;

/// 2^x: x < -126 gives +0 (results are never subnormal), x >= 128 +inf, NaN 0x7fffffff. n = x rounded to an
/// integer, f = x - n (exact), a polynomial in f by Horner's rule in fma, then n added to the exponent field.
DASHLAB_PORTABLE float exp2(float x) {
  if (x != x) return from_bits(0x7fffffffu);
  if (x < -126.0F) return 0.0F;
  if (x >= 128.0F) return from_bits(0x7f800000u);
  const float shifted = add(x, rounding_magic);
  const float f = sub(x, sub(shifted, rounding_magic));
  float r = fma(exp2_c7, f, exp2_c6);
  r = fma(r, f, exp2_c5);
  r = fma(r, f, exp2_c4);
  r = fma(r, f, exp2_c3);
  r = fma(r, f, exp2_c2);
  r = fma(r, f, exp2_c1);
  r = fma(r, f, 1.0F);
  return from_bits(to_bits(r) + (to_bits(shifted) << 23));
}

/// Natural logarithm of a positive normal number: x = 2^e m with m in [0.707, 1.414]; with s = (m-1)/(m+1),
/// ln m = 2 s (1 + s^2/3 + s^4/5 + s^6/7 + s^8/9); e ln 2 is added in two parts. Other x have no meaning
/// here.
DASHLAB_PORTABLE float ln(float x) {
  const std::uint32_t bits = to_bits(x);
  const std::uint32_t e_biased = (bits - 0x3f3504f3u) >> 23;  // signed arithmetic below: 0 for m in range
  const std::int32_t e = static_cast<std::int32_t>(e_biased << 23) >> 23;
  const float m = from_bits(bits - (static_cast<std::uint32_t>(e) << 23));
  const float s = div(sub(m, 1.0F), add(m, 1.0F));
  const float z = mul(s, s);
  float p = fma(z, 0x1.c71c72p-4F, 0x1.24924ap-3F);
  p = fma(p, z, 0x1.99999ap-3F);
  p = fma(p, z, 0x1.555556p-2F);
  const float twice = add(s, s);
  const float fraction = fma(mul(twice, z), p, twice);
  const float n = static_cast<float>(e);
  return fma(n, 0x1.62e4p-1F, fma(n, 0x1.7f7d1cp-20F, fraction));
}

#undef DASHLAB_PORTABLE

}  // namespace dashlab::portable
