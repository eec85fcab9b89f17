// How packed operands look and why a k16 step can run in f32 and int32 lanes. Private to the product kernel.
//
// A step must cut each product, and c, to a multiple of 2^(E-25), E being the largest exponent of the step.
// The product of two 16-bit floats is exact in f32. Scaled by 2^(25-E), its conversion to int32 with
// truncation is the cut. The scale is an integer add of s to the exponent field of b, E is the maximum of
// byte sums. So that one byte holds every exponent that matters, and the add never leaves the exponent field,
// both operands are stored relative:
//   left, for each row and step:         a * 2^(left_top - 127 - r),   r = the row's largest exponent in the
//   step right, for each step and 64 columns: b * 2^(right_top - 127 - r'), r' = the block's largest exponent
//   in the step
// With e = E - r - r' the scale is s = scale_at_zero - e. For s in [0, widest_scale]:
//   b * 2^s has an exponent field of at most right_top + widest_scale < 255;
//   a zero b becomes 2^(s-127), its product with any a stays below 2^(left_top - 126 + widest_scale - 127) <
//   1: cut to 0; an a or b too small for a normal f32 lies more than 100 below its top, e is at least -44:
//   the product is cut to 0; s clamped to 0 (c far above all products) leaves products below 2^(25 -
//   scale_at_zero + 2) < 1: cut to 0, as they should be.
// Steps outside these bounds take a careful vector path or, for NaN, inf and the like, the scalar model.
#pragma once

#include <cfenv>
#include <cstdint>

#include "dashlab/emulator/product.hpp"

namespace dashlab::detail {

inline constexpr int left_rows = 16;   ///< rows of a left block
inline constexpr int right_cols = 64;  ///< columns of a right block
inline constexpr int depth_of_step = 16;

inline constexpr int left_top = 108;   ///< exponent field of the largest |a| of a row and step
inline constexpr int right_top = 110;  ///< the same of a right block
inline constexpr int scale_at_zero = 25 + 127 + 127 - left_top - right_top;
inline constexpr int widest_scale = 105;
inline constexpr int lowest_relative = scale_at_zero - widest_scale;
/// c is brought to the same footing: c * 2^(addend_shift - r - r'), so that the same s scales it.
inline constexpr int addend_shift = left_top + right_top - 127 - 127;
/// Byte sums are e + exponent_offset: what the exponent field of the shifted c holds too.
inline constexpr int exponent_offset = 127 + addend_shift;
/// Exponents this far below the top are stored as if they were here; steps whose e is that low aren't taken
/// fast.
inline constexpr int lowest_stored = -45;
static_assert(2 * lowest_stored + exponent_offset == 1 && lowest_stored < lowest_relative);
static_assert(right_top + widest_scale < 255 && left_top - 126 + widest_scale - 127 < 0);

/// Byte of a zero on the left, subtracted with saturation: no sum survives it. A zero on the right is 0.
inline constexpr std::int32_t left_zero_byte = 255;

/// What a row of a left block, or a right block, is in one step.
enum class StepState : std::int32_t {
  plain,
  wide,    ///< left only: sixteen products and c might overflow int32
  zero,    ///< nothing but zeros
  special  ///< NaN, inf or an exponent that the relative form can't hold: scalar model
};

/// Left: (row block, step) blocks of [16 k][16 rows]. Right: (column block, step) blocks of [16 k][64
/// columns].
inline constexpr int left_block = depth_of_step * left_rows;
inline constexpr int right_block = depth_of_step * right_cols;

[[nodiscard]] constexpr int blocks_of(int extent, int block) noexcept {
  return (extent + block - 1) / block;
}

/// Members of PackedData, left: `values` as above; `bytes` = r - exponent of a (at most -lowest_stored), the
/// byte repeated four times; `bits` the original patterns; `top` = r and `state` of each row and step, [row
/// block][step][16]. Right: `bytes` = exponent of b - r' + exponent_offset (at least lowest_stored above);
/// `top` and `state` of each block. The columns behind the last one of a block hold zeros but pretend to be
/// 2^r', so that they never leave the fast path.
void pack_left(const MatrixView& a, LeftData& to);
void pack_right(const MatrixView& b, RightData& to);

/// The kernel. C is written whole. Rounding must be toward zero (RoundTowardZero).
void run_product(const LeftData& a, const RightData& b, float* c, std::ptrdiff_t ldc, Start start);

/// While it lives, f32 arithmetic of this thread rounds toward zero, as tensor cores do at the end of a step.
class RoundTowardZero {
 public:
  RoundTowardZero() noexcept : before_(std::fegetround()) { std::fesetround(FE_TOWARDZERO); }
  ~RoundTowardZero() { std::fesetround(before_); }
  RoundTowardZero(const RoundTowardZero&) = delete;
  RoundTowardZero& operator=(const RoundTowardZero&) = delete;

 private:
  int before_;
};

}  // namespace dashlab::detail
