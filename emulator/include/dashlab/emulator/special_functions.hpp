// What the GPU's special-function unit computes: ex2, lg2, rcp, rsqrt .approx.ftz.f32, bit for bit over all
// 2^32 inputs (docs/numerics.md, section 2). All four are quadratic interpolation in fixed point.
#pragma once

#include <span>

namespace dashlab {

/// 2^x. Subnormal x counts as 0, a subnormal result as +0.
[[nodiscard]] float ex2_approx_ftz(float x) noexcept;
/// log2(x). -inf for zeros and subnormals, NaN for negative x.
[[nodiscard]] float lg2_approx_ftz(float x) noexcept;
/// 1 / x. A signed infinity for zeros and subnormals, a signed zero where the result would be subnormal.
[[nodiscard]] float rcp_approx_ftz(float x) noexcept;
/// 1 / sqrt(x). A signed infinity for zeros and subnormals, NaN for negative x.
[[nodiscard]] float rsqrt_approx_ftz(float x) noexcept;

/// exp2f as CUDA compiles it without ftz: below -126 the square of ex2(x / 2), which keeps subnormal results
/// (docs/numerics.md, section 6).
[[nodiscard]] float exp2_accurate(float x) noexcept;

/// to[i] = ex2_approx_ftz(from[i]) and exp2_accurate(from[i]), with every lane that the CPU has. The arrays
/// have the same length (std::invalid_argument otherwise) and may be the same one.
void ex2_approx_ftz(std::span<const float> from, std::span<float> to);
void exp2_accurate(std::span<const float> from, std::span<float> to);

}  // namespace dashlab
