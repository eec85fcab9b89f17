// The elementwise middle of recipe fa3's backward pass, over one row of a tile.
#pragma once

#include <span>

#include "dashlab/emulator/float_types.hpp"

namespace dashlab {

/// p = ex2(fma(s, scale_log2, -lse2)), ds = p * (dp - dpsum), all .ftz, both rounded to `type`. Overwrites s
/// and dp with the unrounded p and ds.
void fa3_probabilities(std::span<float> s, std::span<float> dp, float scale_log2, float lse2, float dpsum,
                       InputType type, std::uint16_t* p, std::uint16_t* ds);

}  // namespace dashlab
