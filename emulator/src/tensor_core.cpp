// The scalar model of one tensor-core step. Written for reading; product.cpp holds the fast one.
#include "dashlab/emulator/tensor_core.hpp"

#include <algorithm>
#include <bit>

namespace dashlab {
namespace {

/// A finite value, sign * significand * 2^(exponent - fraction_bits). The significand isn't normalised.
struct Term {
  std::uint64_t significand = 0;
  int exponent = 0;
  bool negative = false;
};

enum class Kind : std::uint8_t { finite, infinite, nan };

struct Operand {
  Term term;
  Kind kind = Kind::finite;
};

/// Takes a bit pattern apart. A subnormal keeps the format's minimum exponent, its significand is below 1.
Operand decode(std::uint32_t bits, FloatLayout layout) noexcept {
  const std::uint32_t fraction = bits & ((1u << layout.fraction_bits) - 1u);
  const int field = static_cast<int>((bits >> layout.fraction_bits) & ((1u << layout.exponent_bits) - 1u));
  Operand operand;
  operand.term.negative = ((bits >> (layout.fraction_bits + layout.exponent_bits)) & 1u) != 0;
  if (field == (1 << layout.exponent_bits) - 1) {
    operand.kind = fraction != 0 ? Kind::nan : Kind::infinite;
    return operand;
  }
  const bool normal = field != 0;
  operand.term.significand = fraction | (normal ? 1u << layout.fraction_bits : 0u);
  operand.term.exponent = normal ? field - layout.bias : layout.min_exponent();
  return operand;
}

constexpr FloatLayout f32_layout{23, 8, 127};
constexpr int lowest_step_exponent = -133;  ///< E never falls below this
constexpr int kept_bits = 25;               ///< terms are cut to multiples of 2^(E - kept_bits)

/// The term in units of 2^(E - kept_bits), cut toward zero.
std::int64_t cut(const Term& term, int fraction_bits, int step_exponent) noexcept {
  const int shift = kept_bits - fraction_bits - (step_exponent - term.exponent);
  std::uint64_t magnitude = 0;
  if (shift >= 0) {
    magnitude = term.significand << shift;
  } else if (shift > -64) {
    magnitude = term.significand >> -shift;
  }
  const auto value = static_cast<std::int64_t>(magnitude);
  return term.negative ? -value : value;
}

/// sum * 2^(step_exponent - kept_bits) as f32, rounded toward zero; subnormals kept; +0 for an exact zero and
/// also for a sum of either sign that is below the smallest subnormal.
float round_toward_zero(std::int64_t sum, int step_exponent) noexcept {
  if (sum == 0) return 0.0f;
  const std::uint32_t sign = sum < 0 ? 0x80000000u : 0u;
  auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const int top_bit = 63 - std::countl_zero(magnitude);
  const int unit = step_exponent - kept_bits;                        // exponent of bit 0
  const int lowest_unit = std::max(top_bit + unit - 23, -126 - 23);  // exponent of the result's last bit
  const int drop = lowest_unit - unit;
  magnitude = drop >= 0 ? magnitude >> drop : magnitude << -drop;
  if (magnitude == 0) return 0.0f;
  const bool normal = magnitude >= (1u << 23);
  const int field = normal ? lowest_unit + 23 + 127 : 0;
  if (field >= 255) return float_of(sign | 0x7f800000u);
  return float_of(sign | (static_cast<std::uint32_t>(field) << 23) |
                  (static_cast<std::uint32_t>(magnitude) & 0x7fffffu));
}

}  // namespace

float tensor_core_step(std::span<const std::uint16_t, step_depth> a,
                       std::span<const std::uint16_t, step_depth> b, float c, InputType type) noexcept {
  const FloatLayout layout = layout_of(type);
  const Operand addend = decode(bits_of(c), f32_layout);
  bool nan = addend.kind == Kind::nan;
  bool plus_infinity = addend.kind == Kind::infinite && !addend.term.negative;
  bool minus_infinity = addend.kind == Kind::infinite && addend.term.negative;

  std::array<Term, step_depth> products;
  int step_exponent = lowest_step_exponent;
  if (addend.term.significand != 0) step_exponent = std::max(step_exponent, addend.term.exponent);
  for (std::size_t k = 0; k < products.size(); ++k) {
    const Operand x = decode(a[k], layout);
    const Operand y = decode(b[k], layout);
    const bool negative = x.term.negative != y.term.negative;
    if (x.kind != Kind::finite || y.kind != Kind::finite) {
      const bool zero_factor = (x.kind == Kind::finite && x.term.significand == 0) ||
                               (y.kind == Kind::finite && y.term.significand == 0);
      if (x.kind == Kind::nan || y.kind == Kind::nan || zero_factor) {
        nan = true;
      } else {
        (negative ? minus_infinity : plus_infinity) = true;
      }
      continue;
    }
    products[k] = {x.term.significand * y.term.significand, x.term.exponent + y.term.exponent, negative};
    if (products[k].significand != 0) step_exponent = std::max(step_exponent, products[k].exponent);
  }
  if (nan || (plus_infinity && minus_infinity)) return float_of(canonical_nan_bits);
  if (plus_infinity) return float_of(0x7f800000u);
  if (minus_infinity) return float_of(0xff800000u);

  std::int64_t sum = cut(addend.term, f32_layout.fraction_bits, step_exponent);
  for (const Term& product : products) sum += cut(product, 2 * layout.fraction_bits, step_exponent);
  return round_toward_zero(sum, step_exponent);
}

float tensor_core_chain(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b, float c,
                        InputType type) noexcept {
  for (std::size_t k = 0; k + step_depth <= a.size(); k += step_depth) {
    c = tensor_core_step(a.subspan(k).first<step_depth>(), b.subspan(k).first<step_depth>(), c, type);
  }
  return c;
}

}  // namespace dashlab
