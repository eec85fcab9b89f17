// One k16 step of a Hopper tensor core for one output element, in plain integers: the yardstick of every
// faster path (docs/numerics.md, section 1; measured on an H200 for mma.sync.m16n8k16 and wgmma.m64nNk16).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "dashlab/emulator/float_types.hpp"

namespace dashlab {

/// Products that one step adds to the accumulator.
inline constexpr int step_depth = 16;

/// d = c + sum of a[k] * b[k], fused as the hardware does it. a and b are bit patterns of `type`.
[[nodiscard]] float tensor_core_step(std::span<const std::uint16_t, step_depth> a,
                                     std::span<const std::uint16_t, step_depth> b, float c,
                                     InputType type) noexcept;

/// A chain of steps over K = a.size() = b.size(), a multiple of 16, k ascending.
[[nodiscard]] float tensor_core_chain(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b,
                                      float c, InputType type) noexcept;

}  // namespace dashlab
