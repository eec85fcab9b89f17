// The scalar operations whose roundings decide bits, named one by one so that no compiler flag can change
// them (docs/numerics.md; PTX ISA, "Floating Point Instructions").
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace dashlab::gpu::ptx {

__device__ __forceinline__ float add_ftz(float a, float b) {
  float d;
  asm("add.rn.ftz.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}
__device__ __forceinline__ float sub_ftz(float a, float b) {
  float d;
  asm("sub.rn.ftz.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}
__device__ __forceinline__ float mul_ftz(float a, float b) {
  float d;
  asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}
__device__ __forceinline__ float fma_ftz(float a, float b, float c) {
  float d;
  asm("fma.rn.ftz.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
  return d;
}
__device__ __forceinline__ float exp2_approx_ftz(float a) {
  float d;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}
__device__ __forceinline__ float log2_approx_ftz(float a) {
  float d;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}
__device__ __forceinline__ float reciprocal_approx_ftz(float a) {
  float d;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}

/// The two 16-bit input types: conversions and the names that instructions use.
struct Bf16 {
  static constexpr bool is_bf16 = true;
  /// Two values rounded to nearest even, `low` in the low half.
  static __device__ __forceinline__ std::uint32_t pack(float low, float high) {
    std::uint32_t d;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low));
    return d;
  }
  static __device__ __forceinline__ float widen(std::uint16_t bits) {
    return __uint_as_float(static_cast<std::uint32_t>(bits) << 16);
  }
};

struct Fp16 {
  static constexpr bool is_bf16 = false;
  static __device__ __forceinline__ std::uint32_t pack(float low, float high) {
    std::uint32_t d;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low));
    return d;
  }
  static __device__ __forceinline__ float widen(std::uint16_t bits) {
    float d;
    asm("cvt.f32.f16 %0, %1;" : "=f"(d) : "h"(bits));
    return d;
  }
};

template <class Input>
__device__ __forceinline__ std::uint16_t round_to(float value) {
  return static_cast<std::uint16_t>(Input::pack(value, 0.0F) & 0xffffU);
}

}  // namespace dashlab::gpu::ptx
