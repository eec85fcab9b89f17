// The arithmetic of a tile's rows, over arrays, with every lane that the CPU has. Each function gives the
// bits of its namesake in scalar_math.hpp. (Powers of two are in special_functions.hpp, conversions in
// float_types.hpp.) Arrays that belong together have one length (std::invalid_argument otherwise). To be
// called with the usual rounding, to nearest.
#pragma once

#include <span>

namespace dashlab {

/// x = fma_ftz(x, a, b).
void fma_ftz(std::span<float> x, float a, float b);
/// x = sub(mul(x, a), b): two roundings, nothing flushed.
void mul_sub(std::span<float> x, float a, float b);
/// x = mul_ftz(x, a), x = mul(x, a).
void mul_ftz(std::span<float> x, float a);
void mul(std::span<float> x, float a);

/// dp = mul_ftz(p, sub_ftz(dp, dpsum)), and the same without flushing.
void score_gradient_ftz(std::span<const float> p, std::span<float> dp, float dpsum);
void score_gradient(std::span<const float> p, std::span<float> dp, float dpsum);

}  // namespace dashlab
