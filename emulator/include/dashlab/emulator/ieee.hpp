// Profile `ieee-fp32` of the project's own recipe `dashlab`: f32 tensors, fused multiply-add chains, exp2 and
// ln of portable_math.hpp. Any CUDA GPU can compute the same bits (docs/numerics.md, recipe dashlab).
#pragma once

#include <memory>

#include "dashlab/emulator/attention.hpp"
#include "dashlab/emulator/parallel.hpp"
#include "dashlab/emulator/recipe.hpp"

namespace dashlab {

std::unique_ptr<BackwardRecipe<float>> ieee_backward_recipe(float scale);

/// o and lse in the tiles of the problem.
ForwardResult ieee_forward(const Problem& problem, const AttentionInputs& inputs, float scale,
                           const RunControl& control);

}  // namespace dashlab
