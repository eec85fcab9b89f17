// The product kernel: k16 steps of 64 columns of one row at a time, in f32 and int32 lanes (packed_layout.hpp
// says why that is exact). Compiled once for each vector unit; the widest one that the CPU has is chosen at
// run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/product_kernel.cpp"
#include "src/simd_targets.hpp"
//
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "dashlab/emulator/scalar_math.hpp"
#include "dashlab/emulator/tensor_core.hpp"
#include "src/packed_layout.hpp"

#ifndef DASHLAB_PRODUCT_KERNEL_ONCE
#define DASHLAB_PRODUCT_KERNEL_ONCE
namespace dashlab::detail {

/// One row of a left block and one right block in one step.
struct StepOperands {
  const float* a;  ///< element k at a[k * left_rows]
  const float* b;  ///< [16 k][64 columns]
  int top;         ///< r + r': what all exponents are relative to
};

/// Rows of C that are worked on together, so that a right block stays in the first cache.
inline constexpr int tile_rows = 32;

}  // namespace dashlab::detail
#endif

HWY_BEFORE_NAMESPACE();
namespace dashlab::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// One step by the scalar model for columns [begin, end).
HWY_NOINLINE void scalar_step(const std::uint16_t* a, const std::uint16_t* b, InputType type, int begin,
                              int end, float* c) {
  std::array<std::uint16_t, depth_of_step> row;
  std::array<std::uint16_t, depth_of_step> column;
  for (std::size_t k = 0; k < row.size(); ++k) row[k] = a[k * left_rows];
  for (int n = begin; n < end; ++n) {
    for (std::size_t k = 0; k < row.size(); ++k) column[k] = b[k * right_cols + static_cast<std::size_t>(n)];
    c[n] = tensor_core_step(row, column, c[n], type);
  }
}

#if HWY_TARGET == HWY_SCALAR
// No vector unit: every step by the scalar model.
constexpr int group_cols = right_cols;
HWY_INLINE void largest_exponents(const std::uint32_t* /*a*/, const std::uint8_t* /*b*/,
                                  std::uint8_t (* /*to*/)[right_cols]) {}
HWY_INLINE bool plain_step(const StepOperands& /*step*/, const std::uint8_t* /*bytes*/, int /*column*/,
                           float* /*c*/) {
  return false;
}
HWY_INLINE bool careful_step(const StepOperands& /*step*/, const std::uint8_t* /*bytes*/, int /*column*/,
                             float* /*c*/) {
  return false;
}
constexpr int lowest_plain_top = 0;
constexpr int highest_plain_top = 0;
#else
using Floats = hn::CappedTag<float, 16>;
using Ints = hn::RebindToSigned<Floats>;
using Words = hn::RebindToUnsigned<Floats>;
using Bytes = hn::Repartition<std::uint8_t, Floats>;
using QuarterBytes = hn::Rebind<std::uint8_t, Ints>;
using FloatV = hn::Vec<Floats>;
using IntV = hn::Vec<Ints>;
constexpr int lanes = static_cast<int>(hn::MaxLanes(Floats()));
constexpr int vectors = 4;  ///< of floats in a group, whose exponents fill one vector of bytes
constexpr int group_cols = vectors * lanes;
static_assert(right_cols % group_cols == 0);

/// Truncates toward zero. The values are inside int32, so the fix-ups of hn::ConvertTo aren't needed.
HWY_INLINE IntV truncated(FloatV v) {
#if HWY_TARGET == HWY_AVX3
  return IntV{_mm512_cvttps_epi32(v.raw)};
#elif HWY_TARGET == HWY_AVX2
  return IntV{_mm256_cvttps_epi32(v.raw)};
#elif HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
  return IntV{_mm_cvttps_epi32(v.raw)};
#else
  return hn::ConvertTo(Ints(), v);
#endif
}

HWY_INLINE IntV at_exponent(int field) {
  return hn::Set(Ints(), field << 23);
}
HWY_INLINE FloatV power_of_two(int exponent) {
  return hn::BitCast(Floats(), at_exponent(127 + exponent));
}

/// For four rows and each of the 64 columns the largest exponent among the sixteen products, as bytes; 0
/// where all are zero. Four rows at once, because loads are the bottleneck.
HWY_INLINE void largest_exponents(const std::uint32_t* a_bytes, const std::uint8_t* b_bytes,
                                  std::uint8_t (*to)[right_cols]) {
  const Bytes d8;
  const auto a = [&](int k, int r) HWY_ATTR {
    return hn::BitCast(d8, hn::Set(hn::Repartition<std::uint32_t, Bytes>(), a_bytes[k * left_rows + r]));
  };
  for (int column = 0; column < right_cols; column += group_cols) {
    auto row0 = hn::Zero(d8), row1 = hn::Zero(d8), row2 = hn::Zero(d8), row3 = hn::Zero(d8);
    HWY_UNROLL(16)
    for (int k = 0; k < depth_of_step; ++k) {
      const auto b = hn::Load(d8, b_bytes + k * right_cols + column);
      row0 = hn::Max(row0, hn::SaturatedSub(b, a(k, 0)));
      row1 = hn::Max(row1, hn::SaturatedSub(b, a(k, 1)));
      row2 = hn::Max(row2, hn::SaturatedSub(b, a(k, 2)));
      row3 = hn::Max(row3, hn::SaturatedSub(b, a(k, 3)));
    }
    hn::Store(row0, d8, to[0] + column);
    hn::Store(row1, d8, to[1] + column);
    hn::Store(row2, d8, to[2] + column);
    hn::Store(row3, d8, to[3] + column);
  }
}

/// Adds the sixteen products, scaled by 2^scale (a number in the exponent field) and cut, to sums.
HWY_INLINE void add_products(const StepOperands& step, int column, const IntV (&scale)[vectors],
                             IntV (&sums)[vectors]) {
  const Floats d;
  const Ints di;
  HWY_UNROLL(4)
  for (int k = 0; k < depth_of_step; ++k) {
    const FloatV a = hn::Set(d, step.a[k * left_rows]);
    const float* b = step.b + k * right_cols + column;
    HWY_UNROLL(4)
    for (int v = 0; v < vectors; ++v) {
      const IntV scaled = hn::Add(hn::BitCast(di, hn::Load(d, b + v * lanes)), scale[v]);
      sums[v] = hn::Add(sums[v], truncated(hn::Mul(a, hn::BitCast(d, scaled))));
    }
  }
}

/// The tops for which a plain step's powers of two stay normal and its results finite.
constexpr int lowest_plain_top = -57;
constexpr int highest_plain_top = 59;

/// One step for a group of columns of c, `bytes` being their largest exponents. False, with c untouched,
/// where a lane lies outside the plain bounds.
HWY_INLINE bool plain_step(const StepOperands& step, const std::uint8_t* bytes, int column, float* c) {
  const Floats d;
  const Ints di;
  const Words du;

  const FloatV to_relative = power_of_two(addend_shift - step.top);
  const IntV exponent_field = at_exponent(255);
  const IntV to_scale = at_exponent(scale_at_zero + exponent_offset);
  IntV exponent[vectors];
  IntV scale[vectors];
  IntV sums[vectors];
  const auto limit = hn::BitCast(du, at_exponent(widest_scale));
  auto widest = limit;
  HWY_UNROLL(4)
  for (int v = 0; v < vectors; ++v) {
    const auto of_products =
        hn::ShiftLeft<23>(hn::PromoteTo(di, hn::Load(QuarterBytes(), bytes + column + v * lanes)));
    const auto addend = hn::BitCast(di, hn::Mul(hn::Load(d, c + column + v * lanes), to_relative));
    exponent[v] = hn::Max(of_products, hn::And(addend, exponent_field));
    scale[v] = hn::Sub(to_scale, exponent[v]);
    widest = hn::Max(widest, hn::BitCast(du, scale[v]));
    sums[v] = truncated(hn::BitCast(d, hn::Add(addend, scale[v])));
  }
  // A negative scale is a large one here: c far above the products, infinite or NaN.
  if (!hn::AllTrue(du, hn::Eq(widest, limit))) return false;

  add_products(step, column, scale, sums);

  const IntV to_unit = at_exponent(step.top - exponent_offset - 25 + 127);
  HWY_UNROLL(4)
  for (int v = 0; v < vectors; ++v) {
    const FloatV unit = hn::BitCast(d, hn::Add(exponent[v], to_unit));
    hn::Store(hn::Mul(hn::ConvertTo(d, sums[v]), unit), d, c + column + v * lanes);
  }
  return true;
}

/// 2^exponent in two factors, each of them normal.
struct SplitPower {
  explicit HWY_INLINE SplitPower(IntV exponent) {
    const Ints di;
    const IntV half = hn::ShiftRight<1>(exponent);
    first = hn::BitCast(Floats(), hn::ShiftLeft<23>(hn::Add(half, hn::Set(di, 127))));
    second = hn::BitCast(Floats(), hn::ShiftLeft<23>(hn::Add(hn::Sub(exponent, half), hn::Set(di, 127))));
  }
  HWY_INLINE FloatV times(FloatV value) const { return hn::Mul(hn::Mul(value, first), second); }
  FloatV first, second;
};

/// The same for everything finite that the relative form holds: subnormal c and results, c far above or
/// columns far below the rest, columns without a product, sums near 2^31. False, with c untouched, where that
/// isn't enough.
HWY_NOINLINE bool careful_step(const StepOperands& step, const std::uint8_t* bytes, int column, float* c) {
  const Floats d;
  const Ints di;

  constexpr int highest_exponent = 120;  // results of 2^126 and above are left to the scalar model
  IntV exponent[vectors];
  IntV scale[vectors];
  IntV addend[vectors];
  auto good = hn::FirstN(di, lanes);
  HWY_UNROLL(4)
  for (int v = 0; v < vectors; ++v) {
    const IntV byte = hn::PromoteTo(di, hn::Load(QuarterBytes(), bytes + column + v * lanes));
    const auto has_product = hn::Gt(byte, hn::Zero(di));
    const IntV of_products = hn::IfThenElse(
        has_product, hn::Add(byte, hn::Set(di, step.top - exponent_offset)), hn::Set(di, -1000));
    const FloatV value = hn::Load(d, c + column + v * lanes);
    const IntV magnitude = hn::And(hn::BitCast(di, value), hn::Set(di, 0x7fffffff));
    IntV of_addend = hn::Sub(hn::Max(hn::ShiftRight<23>(magnitude), hn::Set(di, 1)), hn::Set(di, 127));
    of_addend = hn::IfThenElse(hn::Eq(magnitude, hn::Zero(di)), hn::Set(di, -133), of_addend);
    exponent[v] = hn::Max(of_products, of_addend);
    const IntV relative = hn::Sub(exponent[v], hn::Set(di, step.top));
    const auto too_low = hn::And(has_product, hn::Lt(relative, hn::Set(di, lowest_relative)));
    const auto too_high = hn::Gt(exponent[v], hn::Set(di, highest_exponent));
    good = hn::And(good, hn::Not(hn::Or(too_low, too_high)));
    const IntV unclamped = hn::Sub(hn::Set(di, scale_at_zero), relative);
    scale[v] = hn::ShiftLeft<23>(hn::Min(hn::Max(unclamped, hn::Zero(di)), hn::Set(di, widest_scale)));
    addend[v] = truncated(SplitPower(hn::Sub(hn::Set(di, 25), exponent[v])).times(value));
  }
  if (!hn::AllTrue(di, good)) return false;

  IntV sums[vectors] = {hn::Zero(di), hn::Zero(di), hn::Zero(di), hn::Zero(di)};
  add_products(step, column, scale, sums);  // below 2^31: sixteen significands below (2 - 2^-10)^2

  auto overflow = hn::Zero(di);
  HWY_UNROLL(4)
  for (int v = 0; v < vectors; ++v) {
    const IntV total = hn::Add(sums[v], addend[v]);
    overflow = hn::Or(overflow, hn::And(hn::Xor(total, sums[v]), hn::Xor(total, addend[v])));
    addend[v] = total;
  }
  if (!hn::AllFalse(di, hn::Lt(overflow, hn::Zero(di)))) return false;
  HWY_UNROLL(4)
  for (int v = 0; v < vectors; ++v) {
    const SplitPower unit(hn::Sub(exponent[v], hn::Set(di, 25)));
    // Adding +0 makes +0 of a negative sum below the smallest subnormal.
    hn::Store(hn::Add(unit.times(hn::ConvertTo(d, addend[v])), hn::Zero(d)), d, c + column + v * lanes);
  }
  return true;
}

#endif  // HWY_TARGET == HWY_SCALAR

/// Where the rows of a left operand lie in one step.
struct LeftPlace {
  HWY_INLINE LeftPlace(const LeftData& a, int row, int step)
      : of_row(((std::ptrdiff_t{row} / left_rows) * a.steps + step) * left_rows + row % left_rows),
        of_values(((std::ptrdiff_t{row} / left_rows) * a.steps + step) * left_block + row % left_rows) {}
  std::ptrdiff_t of_row;     ///< in top and state
  std::ptrdiff_t of_values;  ///< in values, bytes and bits
};

/// All rows of a tile, in one step.
HWY_INLINE void tile_step(const LeftData& a, const RightData& b, int first_row, int rows, int column_block,
                          int step, int columns, float (*tile)[right_cols]) {
  const std::ptrdiff_t right = std::ptrdiff_t{column_block} * b.steps + step;
  const StepState right_state = b.state.data()[right];
  const int right_top = b.top.data()[right];
  const std::uint16_t* right_bits = b.bits.data() + right * right_block;
  StepOperands operands{};
  operands.b = b.values.data() + right * right_block;

  // All exponents first: their long chains of maxima then overlap.
  alignas(64) std::uint8_t bytes[tile_rows][right_cols];
  if (right_state == StepState::plain) {
    const std::uint8_t* right_bytes = b.bytes.data() + right * right_block;
    for (int r = 0; r < rows; r += 4) {
      largest_exponents(a.bytes.data() + LeftPlace(a, first_row + r, step).of_values, right_bytes, bytes + r);
    }
  }
  for (int r = 0; r < rows; ++r) {
    const LeftPlace place(a, first_row + r, step);
    const StepState left_state = a.state.data()[place.of_row];
    float* c = tile[r];
    if (left_state == StepState::special || right_state == StepState::special) {
      scalar_step(a.bits.data() + place.of_values, right_bits, a.type, 0, columns, c);
      continue;
    }
    // Without a product c stays as it is (a tile never holds -0 or an odd NaN).
    if (left_state == StepState::zero || right_state == StepState::zero) continue;
    operands.a = a.values.data() + place.of_values;
    operands.top = a.top.data()[place.of_row] + right_top;
    const bool plain = left_state == StepState::plain && operands.top >= lowest_plain_top &&
                       operands.top <= highest_plain_top;
    for (int column = 0; column < columns; column += group_cols) {
      if (plain && plain_step(operands, bytes[r], column, c)) continue;
      if (careful_step(operands, bytes[r], column, c)) continue;
      scalar_step(a.bits.data() + place.of_values, right_bits, a.type, column,
                  std::min(column + group_cols, columns), c);
    }
  }
}

/// Rows of C into a tile: NaNs as the GPU writes them, -0 as +0 (a zero c has no part in a step).
void load_tile(const float* c, std::ptrdiff_t ldc, int rows, int columns, float (*tile)[right_cols]) {
  for (int r = 0; r < rows; ++r) {
    std::memcpy(tile[r], c + r * ldc, static_cast<std::size_t>(columns) * sizeof(float));
    std::fill(tile[r] + columns, tile[r] + right_cols, 0.0f);
    for (float& value : std::span(tile[r], right_cols)) value = canonical(value + 0.0f);
  }
}

void product_here(const LeftData& a, const RightData& b, float* c, std::ptrdiff_t ldc, Start start) {
  alignas(64) float tile[tile_rows][right_cols];
  for (int column_block = 0; column_block < blocks_of(b.extent, right_cols); ++column_block) {
    const int columns = std::min(right_cols, b.extent - column_block * right_cols);
    for (int row = 0; row < a.extent; row += tile_rows) {
      const int rows = std::min(tile_rows, a.extent - row);
      float* corner = c + row * ldc + column_block * right_cols;
      if (start == Start::zero) {
        std::fill(tile[0], tile[0] + tile_rows * right_cols, 0.0f);
      } else {
        load_tile(corner, ldc, rows, columns, tile);
      }
      for (int step = 0; step < a.steps; ++step) {
        tile_step(a, b, row, rows, column_block, step, columns, tile);
      }
      for (int r = 0; r < rows; ++r) {
        std::memcpy(corner + r * ldc, tile[r], static_cast<std::size_t>(columns) * sizeof(float));
      }
    }
  }
}

}  // namespace
}  // namespace dashlab::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dashlab::detail {
namespace {
HWY_EXPORT(product_here);
}  // namespace

void run_product(const LeftData& a, const RightData& b, float* c, std::ptrdiff_t ldc, Start start) {
  if (a.steps == 0 && start == Start::accumulate) return;
  HWY_DYNAMIC_DISPATCH(product_here)(a, b, c, ldc, start);
}

}  // namespace dashlab::detail
#endif
