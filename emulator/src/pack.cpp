// Packing of both operands: gathers 16-bit patterns into blocks, then makes relative floats and exponent
// bytes of them (packed_layout.hpp says why). Compiled once for each vector unit; the widest one that the CPU
// has is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/pack.cpp"
#include "src/simd_targets.hpp"
//
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "src/packed_layout.hpp"

HWY_BEFORE_NAMESPACE();
namespace dashlab::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
using Ints = hn::RebindToSigned<Floats>;
using Words = hn::RebindToUnsigned<Floats>;
using Halves = hn::Rebind<std::uint16_t, Words>;
constexpr std::size_t lanes = hn::MaxLanes(Floats());

/// to[c * to_stride + r] = from[r * from_stride + c] for an 8 x 8 block.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void transpose_8x8(const std::uint16_t* from, std::ptrdiff_t from_stride, std::uint16_t* to,
                              std::ptrdiff_t to_stride) {
  for (int r = 0; r < 8; ++r) {
    for (int c = 0; c < 8; ++c) to[c * to_stride + r] = from[r * from_stride + c];
  }
}
#else
HWY_INLINE void transpose_8x8(const std::uint16_t* from, std::ptrdiff_t from_stride, std::uint16_t* to,
                              std::ptrdiff_t to_stride) {
  const hn::FixedTag<std::uint16_t, 8> d16;
  const hn::FixedTag<std::uint32_t, 4> d32;
  const hn::FixedTag<std::uint64_t, 2> d64;
  const auto load = [&](int r) HWY_ATTR { return hn::LoadU(d16, from + r * from_stride); };
  const auto low16 = [&](auto a, auto b)
                         HWY_ATTR { return hn::BitCast(d32, hn::InterleaveLower(d16, a, b)); };
  const auto high16 = [&](auto a, auto b)
                          HWY_ATTR { return hn::BitCast(d32, hn::InterleaveUpper(d16, a, b)); };
  const auto low32 = [&](auto a, auto b)
                         HWY_ATTR { return hn::BitCast(d64, hn::InterleaveLower(d32, a, b)); };
  const auto high32 = [&](auto a, auto b)
                          HWY_ATTR { return hn::BitCast(d64, hn::InterleaveUpper(d32, a, b)); };
  const auto r0 = load(0), r1 = load(1), r2 = load(2), r3 = load(3);
  const auto r4 = load(4), r5 = load(5), r6 = load(6), r7 = load(7);
  // Pairs of rows, then quadruples; names tell the rows and the columns held.
  const auto r01c03 = low16(r0, r1), r01c47 = high16(r0, r1), r23c03 = low16(r2, r3), r23c47 = high16(r2, r3);
  const auto r45c03 = low16(r4, r5), r45c47 = high16(r4, r5), r67c03 = low16(r6, r7), r67c47 = high16(r6, r7);
  const auto r03c01 = low32(r01c03, r23c03), r03c23 = high32(r01c03, r23c03);
  const auto r03c45 = low32(r01c47, r23c47), r03c67 = high32(r01c47, r23c47);
  const auto r47c01 = low32(r45c03, r67c03), r47c23 = high32(r45c03, r67c03);
  const auto r47c45 = low32(r45c47, r67c47), r47c67 = high32(r45c47, r67c47);
  const auto store = [&](int c, auto upper_rows, auto lower_rows) HWY_ATTR {
    hn::StoreU(hn::BitCast(d16, hn::InterleaveLower(d64, upper_rows, lower_rows)), d16, to + c * to_stride);
    hn::StoreU(hn::BitCast(d16, hn::InterleaveUpper(d64, upper_rows, lower_rows)), d16,
               to + (c + 1) * to_stride);
  };
  store(0, r03c01, r47c01);
  store(2, r03c23, r47c23);
  store(4, r03c45, r47c45);
  store(6, r03c67, r47c67);
}
#endif

/// The 16 x width block of `view` whose first element is (k0, x0), zeros beyond the view's end. Rows of `to`
/// are k.
template <int width>
HWY_INLINE void gather(const MatrixView& view, int k0, int x0, std::uint16_t* to) {
  const int depth = std::min(depth_of_step, view.rows - k0);
  const int count = std::min(width, view.cols - x0);
  const std::uint16_t* from = view.data + k0 * view.row_stride + x0 * view.col_stride;
  const bool whole = depth == depth_of_step && count == width;
  if (!whole) std::fill_n(to, depth_of_step * width, std::uint16_t{0});
  if (view.col_stride == 1 && whole) {
    constexpr std::size_t bytes = width * sizeof(std::uint16_t);  // known to the compiler: no call
    for (int k = 0; k < depth; ++k) std::memcpy(to + k * width, from + k * view.row_stride, bytes);
  } else if (view.row_stride == 1 && whole) {
    for (int x = 0; x < width; x += 8) {
      transpose_8x8(from + x * view.col_stride, view.col_stride, to + x, width);
      transpose_8x8(from + x * view.col_stride + 8, view.col_stride, to + 8 * width + x, width);
    }
  } else {
    for (int k = 0; k < depth; ++k) {
      for (int x = 0; x < count; ++x) to[k * width + x] = from[k * view.row_stride + x * view.col_stride];
    }
  }
}

/// Bit patterns of one type, taken apart lane by lane.
template <InputType type>
struct Decoder {
  static constexpr FloatLayout layout = layout_of(type);

  static HWY_INLINE auto magnitude(hn::Vec<Words> bits) { return hn::And(bits, hn::Set(Words(), 0x7fffu)); }
  static HWY_INLINE auto fraction(hn::Vec<Words> bits) {
    return hn::BitCast(Ints(), hn::And(bits, hn::Set(Words(), (1u << layout.fraction_bits) - 1u)));
  }
  /// The biased exponent, not normalised: 1 for subnormals. 0 for zeros alone, the largest for NaN and inf.
  static HWY_INLINE auto field(hn::Vec<Words> bits) {
    const auto m = magnitude(bits);
    const auto not_zero = hn::Min(m, hn::Set(Words(), 1u));
    return hn::BitCast(Ints(), hn::Max(hn::ShiftRight<layout.fraction_bits>(m), not_zero));
  }
  /// The largest field that the relative form of packed_layout.hpp holds: finite, its scale a normal f32.
  static constexpr int highest_field(int top) {
    return std::min((1 << layout.exponent_bits) - 2, top - 1 + layout.bias);
  }
  /// The exponent field of the power of two that makes `top` of a value's f32 field, see `value`.
  static constexpr int scale_field(int top) {
    return top + layout.bias + (type == InputType::bf16 ? 0 : 127 - layout.bias);
  }
  /// The value as f32; of fp16 it is 2^(127 - 15) too small, subnormals included.
  static HWY_INLINE auto value(hn::Vec<Words> bits) {
    if constexpr (type == InputType::bf16) return hn::BitCast(Floats(), hn::ShiftLeft<16>(bits));
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(Words(), 0x8000u)));
    return hn::BitCast(Floats(), hn::Or(sign, hn::ShiftLeft<13>(magnitude(bits))));
  }
};

HWY_INLINE auto load_bits(const std::uint16_t* from) {
  return hn::PromoteTo(Words(), hn::Load(Halves(), from));
}

template <InputType type>
void prepare_left(const std::uint16_t* bits, float* values, std::uint32_t* bytes, std::int32_t* top,
                  StepState* state) {
  using Decode = Decoder<type>;
  const Ints di;
  const auto state_of = [&](StepState s) HWY_ATTR { return hn::Set(di, static_cast<std::int32_t>(s)); };
  // Sixteen products of significands below 2 stay, with c, below 2^31 units if the row's significands sum to
  // 31 at most. Each is at most 1 plus its fraction.
  const auto widest_sum = hn::Set(di, (31 - depth_of_step) << Decode::layout.fraction_bits);
  for (std::size_t m = 0; m < left_rows; m += lanes) {
    auto largest = hn::Zero(di);
    auto sum = hn::Zero(di);
    for (std::size_t k = 0; k < depth_of_step; ++k) {
      const auto b = load_bits(bits + k * left_rows + m);
      largest = hn::Max(largest, Decode::field(b));
      sum = hn::Add(sum, Decode::fraction(b));
    }
    const auto special = hn::Gt(largest, hn::Set(di, Decode::highest_field(left_top)));
    auto kind =
        hn::IfThenElse(hn::Gt(sum, widest_sum), state_of(StepState::wide), state_of(StepState::plain));
    kind = hn::IfThenElse(hn::Eq(largest, hn::Zero(di)), state_of(StepState::zero), kind);
    kind = hn::IfThenElse(special, state_of(StepState::special), kind);
    hn::Store(kind, di, reinterpret_cast<std::int32_t*>(state) + m);
    largest = hn::IfThenZeroElse(special, largest);  // never used; keeps the scale in range
    hn::Store(hn::Sub(largest, hn::Set(di, Decode::layout.bias)), di, top + m);

    const auto scale = hn::BitCast(
        Floats(), hn::ShiftLeft<23>(hn::Sub(hn::Set(di, Decode::scale_field(left_top)), largest)));
    for (std::size_t k = 0; k < depth_of_step; ++k) {
      const auto b = load_bits(bits + k * left_rows + m);
      const auto field = Decode::field(b);
      const auto below = hn::Min(hn::Sub(largest, field), hn::Set(di, -lowest_stored));
      const auto byte = hn::IfThenElse(hn::Eq(field, hn::Zero(di)), hn::Set(di, left_zero_byte), below);
      hn::Store(hn::BitCast(Words(), hn::Mul(byte, hn::Set(di, 0x01010101))), Words(),
                bytes + k * left_rows + m);
      hn::Store(hn::Mul(Decode::value(b), scale), Floats(), values + k * left_rows + m);
    }
  }
}

template <InputType type>
void prepare_right(const std::uint16_t* bits, int columns, float* values, std::uint8_t* bytes,
                   std::int32_t* top, StepState* state) {
  using Decode = Decoder<type>;
  const Ints di;
  auto fields = hn::Zero(di);
  for (std::size_t i = 0; i < right_block; i += lanes) {
    fields = hn::Max(fields, Decode::field(load_bits(bits + i)));
  }
  const std::int32_t largest = hn::GetLane(hn::MaxOfLanes(di, fields));
  *top = largest - Decode::layout.bias;
  *state = StepState::plain;
  if (largest == 0) *state = StepState::zero;
  if (largest > Decode::highest_field(right_top)) *state = StepState::special;
  if (*state != StepState::plain) return;

  const auto scale = hn::BitCast(Floats(), hn::Set(di, (Decode::scale_field(right_top) - largest) << 23));
  const hn::Rebind<std::uint8_t, Ints> d8;
  for (std::size_t i = 0; i < right_block; i += lanes) {
    const auto b = load_bits(bits + i);
    const auto field = Decode::field(b);
    const auto stored = hn::Max(hn::Add(field, hn::Set(di, exponent_offset - largest)),
                                hn::Set(di, exponent_offset + lowest_stored));
    const auto byte = hn::IfThenZeroElse(hn::Eq(field, hn::Zero(di)), stored);
    hn::Store(hn::DemoteTo(d8, byte), d8, bytes + i);
    hn::Store(hn::Mul(Decode::value(b), scale), Floats(), values + i);
  }
  for (std::size_t k = 0; k < depth_of_step && columns < right_cols; ++k) {
    std::fill(bytes + k * right_cols + columns, bytes + (k + 1) * right_cols, std::uint8_t{exponent_offset});
  }
}

void pack_left_here(const MatrixView& a, LeftData& to) {
  const MatrixView by_depth = a.transposed();
  for (int block = 0, i = 0; block < blocks_of(to.extent, left_rows); ++block) {
    for (int step = 0; step < to.steps; ++step, ++i) {
      std::uint16_t* bits = to.bits.data() + std::ptrdiff_t{i} * left_block;
      gather<left_rows>(by_depth, step * depth_of_step, block * left_rows, bits);
      const auto prepare =
          to.type == InputType::bf16 ? &prepare_left<InputType::bf16> : &prepare_left<InputType::fp16>;
      prepare(bits, to.values.data() + std::ptrdiff_t{i} * left_block,
              to.bytes.data() + std::ptrdiff_t{i} * left_block, to.top.data() + std::ptrdiff_t{i} * left_rows,
              to.state.data() + std::ptrdiff_t{i} * left_rows);
    }
  }
}

void pack_right_here(const MatrixView& b, RightData& to) {
  for (int block = 0, i = 0; block < blocks_of(to.extent, right_cols); ++block) {
    for (int step = 0; step < to.steps; ++step, ++i) {
      std::uint16_t* bits = to.bits.data() + std::ptrdiff_t{i} * right_block;
      gather<right_cols>(b, step * depth_of_step, block * right_cols, bits);
      const auto prepare =
          to.type == InputType::bf16 ? &prepare_right<InputType::bf16> : &prepare_right<InputType::fp16>;
      prepare(bits, to.extent - block * right_cols, to.values.data() + std::ptrdiff_t{i} * right_block,
              to.bytes.data() + std::ptrdiff_t{i} * right_block, to.top.data() + i, to.state.data() + i);
    }
  }
}

}  // namespace
}  // namespace dashlab::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dashlab::detail {
namespace {

template <typename Byte>
void make_room(PackedData<Byte>& data, int block_extent) {
  data.steps = blocks_of(data.depth, depth_of_step);
  const auto blocks =
      static_cast<std::size_t>(blocks_of(data.extent, block_extent)) * static_cast<std::size_t>(data.steps);
  const std::size_t elements = blocks * static_cast<std::size_t>(depth_of_step * block_extent);
  const std::size_t tops = sizeof(Byte) == 1 ? blocks : blocks * left_rows;
  data.values.resize(elements);
  data.bytes.resize(elements);
  data.bits.resize(elements);
  data.top.resize(tops);
  data.state.resize(tops);
}

HWY_EXPORT(pack_left_here);
HWY_EXPORT(pack_right_here);

}  // namespace

void pack_left(const MatrixView& a, LeftData& to) {
  make_room(to, left_rows);
  HWY_DYNAMIC_DISPATCH(pack_left_here)(a, to);
}

void pack_right(const MatrixView& b, RightData& to) {
  make_room(to, right_cols);
  HWY_DYNAMIC_DISPATCH(pack_right_here)(b, to);
}

}  // namespace dashlab::detail
#endif
