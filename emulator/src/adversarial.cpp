// Operands for the fast paths to stumble over. Each style aims at one bound that packed_layout.hpp argues
// with.
#include "adversarial.hpp"

#include <algorithm>
#include <array>

namespace dashlab::detail {
namespace {

/// splitmix64: a counter and a mixer, the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Uniform in [low, high].
  int between(int low, int high) {
    return low + static_cast<int>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(int n) { return between(1, n) == 1; }

 private:
  std::uint64_t state_;
};

enum class Style : std::uint8_t {
  ordinary,       ///< exponents as a bell curve gives them
  any_bits,       ///< NaN and inf included
  any_finite,     ///< the whole range of exponents
  subnormal,      ///< subnormal operands, tiny sums
  zeros,          ///< mostly zeros of both signs, whole rows and columns of them
  cancelling,     ///< products in pairs that cancel, but for a little
  huge,           ///< sums around 2^128
  full,           ///< significands near 2, one exponent: sums around 2^31 units
  probabilities,  ///< a row of exp(x - max): exponents from 0 to the smallest, many zeros
  scaled,         ///< rows and columns of very different size
  count
};
constexpr std::array<const char*, static_cast<std::size_t>(Style::count)> style_names = {
    "ordinary",   "any bits", "any finite", "subnormal",     "zeros",
    "cancelling", "huge",     "full",       "probabilities", "scaled"};

/// A pattern with the given exponent, clamped to what the type holds, and random sign and fraction.
std::uint16_t pattern(Random& random, InputType type, int exponent, bool all_ones = false) {
  const FloatLayout layout = layout_of(type);
  const int field = std::min(std::max(exponent + layout.bias, 0), (1 << layout.exponent_bits) - 2);
  auto fraction = static_cast<int>(random.next() & ((1u << layout.fraction_bits) - 1u));
  if (all_ones) fraction |= (1 << layout.fraction_bits) - 1 - static_cast<int>(random.next() & 3u);
  const int sign = static_cast<int>(random.next() & 1u) << 15;
  return static_cast<std::uint16_t>(sign | (field << layout.fraction_bits) | fraction);
}

int bell(Random& random) {
  int exponent = random.between(0, 2);
  while (exponent > -20 && !random.one_in(2)) --exponent;
  return exponent;
}

/// One element; `scale` is what the style gives its row or column.
std::uint16_t element(Random& random, InputType type, Style style, bool left, int scale) {
  const FloatLayout layout = layout_of(type);
  const std::uint16_t zero = random.one_in(2) ? 0x8000u : 0u;
  switch (style) {
    case Style::any_bits:
      return static_cast<std::uint16_t>(random.next());
    case Style::any_finite:
      return pattern(random, type, random.between(-layout.bias, layout.bias));
    case Style::subnormal:  // some sums below 2^-126, some below 2^-149; `scale` moves the right side
      if (left) return pattern(random, type, layout.min_exponent() - 1 + random.between(0, 1));
      return pattern(random, type,
                     type == InputType::bf16 ? scale % 30 - random.between(0, 3) : bell(random));
    case Style::zeros:
      return random.one_in(4) && scale % 3 != 0 ? pattern(random, type, bell(random)) : zero;
    case Style::huge:
      return pattern(random, type, layout.bias / 2 + random.between(-3, 2));
    case Style::full:
      return static_cast<std::uint16_t>(pattern(random, type, scale % 3, true) &
                                        (scale % 2 != 0 ? 0x7fffu : 0xffffu));
    case Style::probabilities:
      if (!left) return pattern(random, type, bell(random));
      return random.one_in(3)
                 ? zero
                 : static_cast<std::uint16_t>(pattern(random, type, -random.between(0, 134)) & 0x7fffu);
    case Style::scaled:
      return pattern(random, type, scale + bell(random));
    case Style::ordinary:
    case Style::cancelling:
    case Style::count:
      break;
  }
  return pattern(random, type, bell(random));
}

/// c: anything, often in proportion to products of 2^size.
float addend(Random& random, Style style, int size) {
  const auto fraction = static_cast<std::uint32_t>(random.next() & 0x807fffffu);
  switch (random.between(0, 7)) {
    case 0:
      return float_of(fraction & 0x80000000u);
    case 1:
      return float_of(fraction | (static_cast<std::uint32_t>(random.between(0, 254)) << 23));
    case 2:
      return float_of(fraction);
    case 3:
      return style == Style::any_bits ? float_of(static_cast<std::uint32_t>(random.next())) : 0.0f;
    default: {
      const int field = std::min(std::max(127 + size + random.between(-17, 13), 0), 254);
      return float_of(fraction | (static_cast<std::uint32_t>(field) << 23));
    }
  }
}

}  // namespace

MatrixView AdversarialProduct::left() const noexcept {
  return a_transposed ? MatrixView{a.data(), 1, rows, rows, depth}
                      : MatrixView{a.data(), depth, 1, rows, depth};
}

MatrixView AdversarialProduct::right() const noexcept {
  return b_transposed ? MatrixView{b.data(), 1, depth, depth, cols}
                      : MatrixView{b.data(), cols, 1, depth, cols};
}

AdversarialProduct make_adversarial(std::uint64_t seed) {
  Random random(seed);
  AdversarialProduct p{};
  const auto style = static_cast<Style>(random.between(0, static_cast<int>(Style::count) - 1));
  p.style = style_names[static_cast<std::size_t>(style)];
  p.type = random.one_in(2) ? InputType::bf16 : InputType::fp16;
  p.rows = random.between(1, 40);
  p.cols = random.between(1, 80);
  p.depth = random.one_in(4) ? random.between(1, 40) : 16 * random.between(1, 3);
  p.a_transposed = random.one_in(2);
  p.b_transposed = random.one_in(2);
  p.start = random.one_in(3) ? Start::zero : Start::accumulate;
  const auto size = [](int x, int y) { return static_cast<std::size_t>(x) * static_cast<std::size_t>(y); };
  p.a.resize(size(p.rows, p.depth));
  p.b.resize(size(p.depth, p.cols));
  p.c.resize(size(p.rows, p.cols));

  // Rows and columns of sizes around a middle of their own, near each other or far apart.
  const int reach = p.type == InputType::bf16 ? 60 : 8;
  constexpr std::array<int, 3> spreads = {3, 20, 50};
  const auto scales = [&](int count) {
    const int middle = random.between(-reach, reach);
    const int spread = spreads[static_cast<std::size_t>(random.between(0, 2))];
    std::vector<int> scale(static_cast<std::size_t>(count));
    for (int& s : scale) s = middle + random.between(-spread, spread);
    return scale;
  };
  const std::vector<int> row_scale = scales(p.rows);
  const std::vector<int> column_scale = scales(p.cols);

  for (int k = 0; k < p.depth; ++k) {
    const auto depth_index = static_cast<std::size_t>(k);
    for (std::size_t m = 0; m < row_scale.size(); ++m) {
      const std::size_t i = p.a_transposed ? depth_index * row_scale.size() + m
                                           : m * static_cast<std::size_t>(p.depth) + depth_index;
      p.a[i] = element(random, p.type, style, true, row_scale[m]);
      // Cancelling: the same a with the other sign, and below the same b, but for its last bit.
      if (style == Style::cancelling && k % 2 == 1) {
        const std::size_t before = p.a_transposed ? i - row_scale.size() : i - 1;
        p.a[i] = static_cast<std::uint16_t>(p.a[before] ^ 0x8000u);
      }
    }
    for (std::size_t n = 0; n < column_scale.size(); ++n) {
      const std::size_t i = p.b_transposed ? n * static_cast<std::size_t>(p.depth) + depth_index
                                           : depth_index * column_scale.size() + n;
      p.b[i] = element(random, p.type, style, false, column_scale[n]);
      if (style == Style::cancelling && k % 2 == 1) {
        const std::size_t before = p.b_transposed ? i - 1 : i - column_scale.size();
        p.b[i] = static_cast<std::uint16_t>(p.b[before] ^ (random.one_in(4) ? 1u : 0u));
      }
    }
  }
  for (std::size_t m = 0, i = 0; m < row_scale.size(); ++m) {
    for (std::size_t n = 0; n < column_scale.size(); ++n, ++i) {
      p.c[i] = addend(random, style, style == Style::scaled ? row_scale[m] + column_scale[n] : 0);
    }
  }
  return p;
}

}  // namespace dashlab::detail
