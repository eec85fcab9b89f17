// Row arithmetic in lanes. Compiled once for each vector unit; the widest one that the CPU has is chosen at
// run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/array_math.cpp"
#include "src/simd_targets.hpp"
//
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "dashlab/emulator/array_math.hpp"
#include "dashlab/emulator/scalar_math.hpp"
#include "dashlab/emulator/special_functions.hpp"
#include "src/special_function_tables.hpp"

HWY_BEFORE_NAMESPACE();
namespace dashlab::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
using Ints = hn::RebindToSigned<Floats>;
using Words = hn::RebindToUnsigned<Floats>;
using Halves = hn::Rebind<std::uint16_t, Floats>;
using FloatV = hn::Vec<Floats>;
using IntV = hn::Vec<Ints>;
using WordV = hn::Vec<Words>;
using HalfV = hn::Vec<Halves>;
constexpr std::size_t lanes = hn::MaxLanes(Floats());
constexpr std::int32_t canonical_nan16 = canonical_nan16_bits;

HWY_INLINE FloatV constant(float value) {
  return hn::Set(Floats(), value);
}
HWY_INLINE IntV constant(std::int32_t value) {
  return hn::Set(Ints(), value);
}
HWY_INLINE WordV constant(std::uint32_t value) {
  return hn::Set(Words(), value);
}
HWY_INLINE FloatV floats(IntV bits) {
  return hn::BitCast(Floats(), bits);
}
HWY_INLINE FloatV floats(WordV bits) {
  return hn::BitCast(Floats(), bits);
}
HWY_INLINE IntV ints(FloatV value) {
  return hn::BitCast(Ints(), value);
}
HWY_INLINE WordV words(FloatV value) {
  return hn::BitCast(Words(), value);
}

HWY_INLINE FloatV canonical_lanes(FloatV v) {
  return hn::IfThenElse(hn::Eq(v, v), v, floats(constant(canonical_nan_bits)));
}
HWY_INLINE FloatV flushed_lanes(FloatV v) {
  const auto tiny = hn::Eq(hn::And(words(v), constant(0x7f800000u)), hn::Zero(Words()));
  return floats(hn::IfThenElse(tiny, hn::And(words(v), constant(0x80000000u)), words(v)));
}
/// Results of exactly +-2^-126 may have been rounded up to it; the scalar form decides (scalar_math.hpp).
HWY_INLINE bool any_on_the_edge(FloatV v) {
  return !hn::AllFalse(Floats(), hn::Eq(hn::Abs(v), constant(smallest_normal)));
}

// The operations that update y, with or without a second array x. `in_lanes` may set `retry` to have `one` do
// its lanes again.

struct FmaFtz {
  float a, b;
  float one(float /*x*/, float y) const { return fma_ftz(y, a, b); }
  HWY_INLINE FloatV in_lanes(FloatV /*x*/, FloatV y, bool& retry) const {
    const FloatV result = hn::MulAdd(flushed_lanes(y), constant(flushed(a)), constant(flushed(b)));
    retry = any_on_the_edge(result);
    return canonical_lanes(flushed_lanes(result));
  }
};

struct MulFtz {
  float a;
  float one(float /*x*/, float y) const { return mul_ftz(y, a); }
  HWY_INLINE FloatV in_lanes(FloatV /*x*/, FloatV y, bool& retry) const {
    const FloatV result = hn::Mul(flushed_lanes(y), constant(flushed(a)));
    retry = any_on_the_edge(result);
    return canonical_lanes(flushed_lanes(result));
  }
};

struct Mul {
  float a;
  float one(float /*x*/, float y) const { return mul(y, a); }
  HWY_INLINE FloatV in_lanes(FloatV /*x*/, FloatV y, bool& /*retry*/) const {
    return canonical_lanes(hn::Mul(y, constant(a)));
  }
};

struct MulSub {
  float a, b;
  float one(float /*x*/, float y) const { return sub(mul(y, a), b); }
  HWY_INLINE FloatV in_lanes(FloatV /*x*/, FloatV y, bool& /*retry*/) const {
    return canonical_lanes(hn::Sub(hn::Mul(y, constant(a)), constant(b)));
  }
};

struct ScoreGradientFtz {
  float dpsum;
  float one(float x, float y) const { return mul_ftz(x, sub_ftz(y, dpsum)); }
  HWY_INLINE FloatV in_lanes(FloatV x, FloatV y, bool& retry) const {
    const FloatV difference = flushed_lanes(hn::Sub(flushed_lanes(y), constant(flushed(dpsum))));
    const FloatV result = hn::Mul(flushed_lanes(x), difference);
    retry = any_on_the_edge(result);
    return canonical_lanes(flushed_lanes(result));
  }
};

struct ScoreGradient {
  float dpsum;
  float one(float x, float y) const { return mul(x, sub(y, dpsum)); }
  HWY_INLINE FloatV in_lanes(FloatV x, FloatV y, bool& /*retry*/) const {
    return canonical_lanes(hn::Mul(x, hn::Sub(y, constant(dpsum))));
  }
};

/// table[index] for a table of 64 words.
HWY_INLINE WordV look_up(const std::array<std::uint32_t, 64>& table, WordV index) {
#if HWY_TARGET == HWY_AVX3
  // Four vectors hold the table; permuting them is faster than gathering.
  const Words d;
  const auto lane = hn::IndicesFromVec(d, hn::And(index, constant(15u)));
  const auto part = [&](std::size_t i)
                        HWY_ATTR { return hn::TableLookupLanes(hn::LoadU(d, table.data() + 16 * i), lane); };
  const auto second = hn::TestBit(index, constant(16u));
  const auto upper = hn::TestBit(index, constant(32u));
  return hn::IfThenElse(upper, hn::IfThenElse(second, part(3), part(2)),
                        hn::IfThenElse(second, part(1), part(0)));
#else
  return hn::GatherIndex(Words(), table.data(), hn::BitCast(Ints(), index));
#endif
}

/// ex2_approx_ftz in 32-bit lanes; special_functions.cpp has the plain form.
HWY_INLINE FloatV ex2_lanes(FloatV x) {
  // x in units of 2^-23, cut toward zero; negative numbers as ones' complement where they have a fraction.
  const WordV fraction_mask = constant(0x7fffffu);
  const IntV sign = hn::ShiftRight<31>(ints(x));
  const IntV magnitude = hn::ConvertTo(Ints(), hn::Mul(hn::Abs(x), constant(0x1p23f)));
  const auto whole = hn::Eq(hn::And(magnitude, constant(0x7fffff)), hn::Zero(Ints()));
  const IntV fixed = hn::Sub(hn::Xor(magnitude, sign), hn::IfThenElseZero(whole, sign));
  const IntV integer = hn::ShiftRight<23>(fixed);
  const WordV index = hn::And(hn::BitCast(Words(), fixed), fraction_mask);

  const WordV segment = hn::ShiftRight<17>(index);
  const WordV c0 = look_up(ex2_words.c0, segment);
  const WordV c1_c2 = look_up(ex2_words.c1_c2, segment);
  const WordV c1 = hn::And(c1_c2, constant(0xffffu));
  const WordV c2 = hn::ShiftRight<16>(c1_c2);
  const WordV rest = hn::And(index, constant(0x1ffffu));

  // The squarer keeps the bit products x_i x_j with i + j >= 18. With rest = high * 2^9 + low that is all of
  // high^2, nothing of low^2, and twice the sum over the bits of low of high, cut.
  const WordV high = hn::ShiftRight<9>(rest);
  WordV square = hn::ShiftRight<1>(hn::Mul(high, high));
  const auto add_row = [&]<int bit>() HWY_ATTR {
    const auto set = hn::TestBit(rest, constant(1u << bit));
    square = hn::Add(square, hn::IfThenElseZero(set, hn::ShiftRight<9 - bit>(high)));
  };
  add_row.template operator()<2>(), add_row.template operator()<3>(), add_row.template operator()<4>();
  add_row.template operator()<5>(), add_row.template operator()<6>(), add_row.template operator()<7>();
  add_row.template operator()<8>();

  // ((c0 << 13) + c1 * rest + c2 * square + 0x17e2) >> 15 with sums that fit in 32 bits: c1 * rest is twice
  // `half` and a bit.
  const WordV half = hn::Mul(c1, hn::ShiftRight<1>(rest));
  const auto odd = hn::TestBit(rest, constant(1u));
  WordV low = hn::Add(hn::Mul(c2, square), hn::ShiftLeft<13>(hn::And(c0, constant(3u))));
  low = hn::Add(hn::Add(low, constant(0x17e2u)), hn::IfThenElseZero(odd, c1));
  const WordV sum = hn::Add(half, hn::ShiftRight<1>(low));
  const WordV significand = hn::Add(hn::ShiftRight<2>(c0), hn::ShiftRight<14>(sum));

  const IntV field = hn::ShiftLeft<23>(hn::Add(integer, constant(126)));  // the leading 1 adds one more
  FloatV result = floats(hn::Add(hn::BitCast(Ints(), significand), field));
  result = hn::IfThenZeroElse(hn::Lt(x, constant(-126.0f)), result);
  result = hn::IfThenElse(hn::Ge(x, constant(128.0f)), floats(constant(0x7f800000u)), result);
  return hn::IfThenElse(hn::Eq(x, x), result, floats(constant(canonical_nan_bits)));
}

struct Ex2Ftz {
  float one(float x) const { return ex2_approx_ftz(x); }
  HWY_INLINE FloatV in_lanes(FloatV x) const { return ex2_lanes(x); }
};

struct Exp2Accurate {
  float one(float x) const { return exp2_accurate(x); }
  HWY_INLINE FloatV in_lanes(FloatV x) const {
    const auto low = hn::Lt(x, constant(-126.0f));
    const FloatV result = ex2_lanes(hn::IfThenElse(low, hn::Mul(x, constant(0.5f)), x));
    return hn::IfThenElse(low, hn::Mul(result, result), result);
  }
};

/// y[i] = operation(x[i]).
template <typename Operation>
HWY_INLINE void apply(const Operation& operation, const float* x, float* y, std::size_t count) {
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(operation.in_lanes(hn::LoadU(Floats(), x + i)), Floats(), y + i);
  }
  for (; i < count; ++i) y[i] = operation.one(x[i]);
}

/// y[i] = operation(x[i], y[i]).
template <typename Operation>
HWY_INLINE void update(const Operation& operation, const float* x, float* y, std::size_t count) {
  const Floats d;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    bool retry = false;
    const FloatV result = operation.in_lanes(hn::LoadU(d, x + i), hn::LoadU(d, y + i), retry);
    if (HWY_UNLIKELY(retry)) {
      for (std::size_t j = i; j < i + lanes; ++j) y[j] = operation.one(x[j], y[j]);
    } else {
      hn::StoreU(result, d, y + i);
    }
  }
  for (; i < count; ++i) y[i] = operation.one(x[i], y[i]);
}

void fma_ftz_here(float* y, std::size_t count, float a, float b) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON
  update(FmaFtz{a, b}, y, y, count);
#else  // no fused lanes on this unit
  for (std::size_t i = 0; i < count; ++i) y[i] = fma_ftz(y[i], a, b);
#endif
}
void mul_ftz_here(float* y, std::size_t count, float a) {
  update(MulFtz{a}, y, y, count);
}
void mul_here(float* y, std::size_t count, float a) {
  update(Mul{a}, y, y, count);
}
void mul_sub_here(float* y, std::size_t count, float a, float b) {
  update(MulSub{a, b}, y, y, count);
}
void score_gradient_ftz_here(const float* x, float* y, std::size_t count, float dpsum) {
  update(ScoreGradientFtz{dpsum}, x, y, count);
}
void score_gradient_here(const float* x, float* y, std::size_t count, float dpsum) {
  update(ScoreGradient{dpsum}, x, y, count);
}
void ex2_ftz_here(const float* x, float* y, std::size_t count) {
  apply(Ex2Ftz{}, x, y, count);
}
void exp2_accurate_here(const float* x, float* y, std::size_t count) {
  apply(Exp2Accurate{}, x, y, count);
}

HWY_INLINE HalfV bf16_lanes(FloatV v) {
  const WordV bits = words(v);
  const WordV odd = hn::And(hn::ShiftRight<16>(bits), constant(1u));
  const WordV rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, constant(0x7fffu)), odd));
  const auto number = hn::RebindMask(Ints(), hn::Eq(v, v));
  const IntV result = hn::IfThenElse(number, hn::BitCast(Ints(), rounded), constant(canonical_nan16));
  return hn::DemoteTo(Halves(), result);
}

HWY_INLINE HalfV fp16_lanes(FloatV v) {
  const WordV sign = hn::And(hn::ShiftRight<16>(words(v)), constant(0x8000u));
  const FloatV magnitude = hn::Abs(v);
  // Normal: round to ten fraction bits and rebias. What rounds to 2^16 or more becomes infinity.
  const WordV bits = words(magnitude);
  const WordV odd = hn::And(hn::ShiftRight<13>(bits), constant(1u));
  WordV normal = hn::Add(hn::Add(bits, constant(0xfffu)), odd);
  normal = hn::Sub(hn::ShiftRight<13>(normal), constant((127u - 15u) << 10));
  normal = hn::Min(normal, constant(0x7c00u));
  // Subnormal: adding 1/2 rounds to multiples of 2^-24.
  const WordV subnormal = hn::Sub(words(hn::Add(magnitude, constant(0.5f))), constant(0x3f000000u));
  const auto small = hn::RebindMask(Words(), hn::Lt(magnitude, constant(0x1p-14f)));
  const WordV signed_result = hn::Or(hn::IfThenElse(small, subnormal, normal), sign);
  const auto number = hn::RebindMask(Ints(), hn::Eq(v, v));
  const IntV result = hn::IfThenElse(number, hn::BitCast(Ints(), signed_result), constant(canonical_nan16));
  return hn::DemoteTo(Halves(), result);
}

void narrow_here(const float* from, std::uint16_t* to, std::size_t count, InputType type) {
  const Floats d;
  std::size_t i = 0;
  if (type == InputType::bf16) {
    for (; i + lanes <= count; i += lanes) hn::StoreU(bf16_lanes(hn::LoadU(d, from + i)), Halves(), to + i);
  } else {
    for (; i + lanes <= count; i += lanes) hn::StoreU(fp16_lanes(hn::LoadU(d, from + i)), Halves(), to + i);
  }
  for (; i < count; ++i) to[i] = from_float(from[i], type);
}

HWY_INLINE FloatV wide_bf16_lanes(WordV bits) {
  return floats(hn::ShiftLeft<16>(bits));
}
HWY_INLINE FloatV wide_fp16_lanes(WordV bits) {
  const WordV magnitude = hn::And(bits, constant(0x7fffu));
  const WordV sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
  // As an f32 pattern the magnitude is 2^112 too small, subnormals included.
  const FloatV finite = hn::Mul(floats(hn::ShiftLeft<13>(magnitude)), constant(0x1p112f));
  const IntV order = hn::BitCast(Ints(), magnitude);
  WordV result = hn::Or(words(finite), sign);
  const auto infinite = hn::RebindMask(Words(), hn::Eq(order, constant(0x7c00)));
  result = hn::IfThenElse(infinite, hn::Or(sign, constant(0x7f800000u)), result);
  const auto nan = hn::RebindMask(Words(), hn::Gt(order, constant(0x7c00)));
  return floats(hn::IfThenElse(nan, constant(canonical_nan_bits), result));
}

void widen_here(const std::uint16_t* from, float* to, std::size_t count, InputType type) {
  const Words d;
  std::size_t i = 0;
  const auto load = [&]() HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(Halves(), from + i)); };
  if (type == InputType::bf16) {
    for (; i + lanes <= count; i += lanes) hn::StoreU(wide_bf16_lanes(load()), Floats(), to + i);
  } else {
    for (; i + lanes <= count; i += lanes) hn::StoreU(wide_fp16_lanes(load()), Floats(), to + i);
  }
  for (; i < count; ++i) to[i] = to_float(from[i], type);
}

}  // namespace
}  // namespace dashlab::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dashlab {
namespace detail {
namespace {
HWY_EXPORT(fma_ftz_here);
HWY_EXPORT(mul_ftz_here);
HWY_EXPORT(mul_here);
HWY_EXPORT(mul_sub_here);
HWY_EXPORT(score_gradient_ftz_here);
HWY_EXPORT(score_gradient_here);
HWY_EXPORT(ex2_ftz_here);
HWY_EXPORT(exp2_accurate_here);
HWY_EXPORT(narrow_here);
HWY_EXPORT(widen_here);

void check_lengths(std::size_t a, std::size_t b) {
  if (a != b) throw std::invalid_argument("the arrays differ in length");
}

}  // namespace
}  // namespace detail

using namespace detail;  // the dispatch tables

void fma_ftz(std::span<float> x, float a, float b) {
  HWY_DYNAMIC_DISPATCH(fma_ftz_here)(x.data(), x.size(), a, b);
}
void mul_sub(std::span<float> x, float a, float b) {
  HWY_DYNAMIC_DISPATCH(mul_sub_here)(x.data(), x.size(), a, b);
}
void mul_ftz(std::span<float> x, float a) {
  HWY_DYNAMIC_DISPATCH(mul_ftz_here)(x.data(), x.size(), a);
}
void mul(std::span<float> x, float a) {
  HWY_DYNAMIC_DISPATCH(mul_here)(x.data(), x.size(), a);
}

void score_gradient_ftz(std::span<const float> p, std::span<float> dp, float dpsum) {
  check_lengths(p.size(), dp.size());
  HWY_DYNAMIC_DISPATCH(score_gradient_ftz_here)(p.data(), dp.data(), dp.size(), dpsum);
}
void score_gradient(std::span<const float> p, std::span<float> dp, float dpsum) {
  check_lengths(p.size(), dp.size());
  HWY_DYNAMIC_DISPATCH(score_gradient_here)(p.data(), dp.data(), dp.size(), dpsum);
}

void ex2_approx_ftz(std::span<const float> from, std::span<float> to) {
  check_lengths(from.size(), to.size());
  HWY_DYNAMIC_DISPATCH(ex2_ftz_here)(from.data(), to.data(), to.size());
}
void exp2_accurate(std::span<const float> from, std::span<float> to) {
  check_lengths(from.size(), to.size());
  HWY_DYNAMIC_DISPATCH(exp2_accurate_here)(from.data(), to.data(), to.size());
}

void convert(std::span<const float> from, std::span<std::uint16_t> to, InputType type) {
  check_lengths(from.size(), to.size());
  HWY_DYNAMIC_DISPATCH(narrow_here)(from.data(), to.data(), to.size(), type);
}
void convert(std::span<const std::uint16_t> from, std::span<float> to, InputType type) {
  check_lengths(from.size(), to.size());
  HWY_DYNAMIC_DISPATCH(widen_here)(from.data(), to.data(), to.size(), type);
}

}  // namespace dashlab
#endif
