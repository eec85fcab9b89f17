// Notebook 5: how a Hopper tensor core adds, and how its neighbour computes 2^x, on numbers one can follow.
// %% [markdown]
// # 5. How a tensor core adds
//
// To predict the bits of a gradient one must know how the hardware adds. The manual says little: matrix
// instructions take bf16 in and give f32 out. What happens in between was found by asking an H200
// millions of questions (`docs/numerics.md`). The answer fits on a page, and this notebook works through it
// by hand.
// %%
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "dashlab/core/whole_file.hpp"
#include "dashlab/emulator/float_types.hpp"
#include "dashlab/emulator/special_functions.hpp"
#include "dashlab/emulator/tensor_core.hpp"
#include "notebook.hpp"

using namespace dashlab;
using notebook::fixed;
using notebook::Table;

// %% [markdown]
// ## The rule
//
// One step of the unit takes an f32 number *c* and 16 pairs of 16-bit numbers and returns
// d = c + Σ a·b in a single, *fused* operation:
//
// 1. Every product is exact. Its exponent is the sum of the two exponents; its significand, between 1 and
//    4, is not normalised.
// 2. *E* is the largest exponent among *c* and the products (terms that are zero do not count).
// 3. Every term, *c* included, is **cut** to a multiple of 2^(E-25): truncated, not rounded.
// 4. The cut terms are added exactly.
// 5. The sum is cut to an f32, again toward zero.
//
// Below the rule is written out for finite, normal numbers. (The library also knows infinities, NaNs,
// subnormals and a floor for *E*; `docs/numerics.md` has the whole of it.)
// %%
// The exponent of a normal number: 2^exponent <= |x| < 2^(exponent + 1).
int exponent_of(float x) {
  return std::ilogb(x);
}

// x without what lies below multiples of 2^unit. Exact in double for the sizes used here.
double cut(double x, int unit) {
  return std::ldexp(std::trunc(std::ldexp(x, -unit)), unit);
}

// To f32, toward zero.
float to_f32_toward_zero(double x) {
  const auto nearest = static_cast<float>(x);
  return std::abs(static_cast<double>(nearest)) > std::abs(x) ? std::nextafter(nearest, 0.0f) : nearest;
}

using Sixteen = std::array<float, 16>;

// What one step did, for looking at it.
struct Step {
  int exponent = -1000;  // E
  double kept = 0;       // the exact sum of the cut terms
  float d = 0;
};

Step step(const Sixteen& a, const Sixteen& b, float c) {
  Step result;
  if (c != 0) result.exponent = exponent_of(c);
  for (std::size_t k = 0; k < 16; ++k) {
    if (a[k] != 0 && b[k] != 0)
      result.exponent = std::max(result.exponent, exponent_of(a[k]) + exponent_of(b[k]));
  }
  const int unit = result.exponent - 25;
  result.kept = cut(static_cast<double>(c), unit);
  for (std::size_t k = 0; k < 16; ++k) {
    result.kept += cut(static_cast<double>(a[k]) * static_cast<double>(b[k]), unit);
  }
  result.d = to_f32_toward_zero(result.kept);
  return result;
}

// %% [markdown]
// Beside it, two others: the library's model of the unit, which agreed with the H200 on every bit, and what a
// CPU would do, one f32 addition after another, rounded to nearest.
// %%
float unit_step(const Sixteen& a, const Sixteen& b, float c) {
  std::array<std::uint16_t, 16> a16{};
  std::array<std::uint16_t, 16> b16{};
  for (std::size_t k = 0; k < 16; ++k) {
    a16[k] = bf16_from_float(a[k]);
    b16[k] = bf16_from_float(b[k]);
  }
  return tensor_core_step(a16, b16, c, InputType::bf16);
}

float one_by_one(const Sixteen& a, const Sixteen& b, float c) {
  for (std::size_t k = 0; k < 16; ++k) c = std::fma(a[k], b[k], c);
  return c;
}

double exact_sum(const Sixteen& a, const Sixteen& b, float c) {
  auto sum = static_cast<double>(c);
  for (std::size_t k = 0; k < 16; ++k) sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
  return sum;
}

// Adds a line for one experiment to the table, and checks the rule against the library's model.
void experiment(Table& table, const std::string& name, const Sixteen& a, const Sixteen& b, float c) {
  const Step by_rule = step(a, b, c);
  notebook::require(by_rule.d == unit_step(a, b, c), "rule and model agree: " + name);
  table.add(name, fixed(exact_sum(a, b, c), 1), by_rule.exponent, fixed(by_rule.kept, 1),
            fixed(static_cast<double>(by_rule.d), 1), fixed(static_cast<double>(one_by_one(a, b, c)), 1));
}

Sixteen all(float x) {
  Sixteen values{};
  values.fill(x);
  return values;
}

// %%
int main() {  // hidden
  // %% [markdown]
  // ## Sixteen ones and a big number
  //
  // Take sixteen products 1 · 1 and a growing *c*. A CPU that adds one by one loses every 1 from *c* = 2²⁴
  // on: half of a unit in the last place, rounded to even, sixteen times. The tensor core adds the ones among
  // themselves and to *c* before it rounds, so at 2²⁵ all sixteen arrive. At 2²⁶ the cut is at multiples of
  // 2, and each 1 is cut to nothing *before* the sum.
  // %%
  Table ones({"c", "exact", "E", "sum of cut terms", "tensor core", "one by one"});
  for (const int exponent : {23, 24, 25, 26, 27}) {
    experiment(ones, "2^" + std::to_string(exponent), all(1), all(1), std::ldexp(1.0f, exponent));
  }
  ones.print();
  notebook::require(unit_step(all(1), all(1), 0x1p25f) == 0x1p25f + 16, "at 2^25 all sixteen ones arrive");
  notebook::require(one_by_one(all(1), all(1), 0x1p25f) == 0x1p25f, "one by one they are lost");
  notebook::require(unit_step(all(1), all(1), 0x1p26f) == 0x1p26f, "at 2^26 they are cut away");

  // %% [markdown]
  // ## It cuts, it does not round
  //
  // Sixteen products of 3, at 2²⁶: each is cut to 2 (not rounded to 4), so of 48 only 32 arrive. And the end
  // is a cut as well: with *c* = 2²⁴, where f32 is spaced by 2, a single product of 3 gives + 2 where
  // rounding to nearest gives + 4. For negative numbers both cuts go toward zero.
  // %%
  Sixteen single{};
  single[0] = 3;
  Table cuts({"experiment", "exact", "E", "sum of cut terms", "tensor core", "one by one"});
  experiment(cuts, "2^26 + 16 threes", all(3), all(1), 0x1p26f);
  experiment(cuts, "2^24 + one three", single, all(1), 0x1p24f);
  experiment(cuts, "-2^24 - one three", single, all(-1), -0x1p24f);
  cuts.print();
  notebook::require(unit_step(all(3), all(1), 0x1p26f) == 0x1p26f + 32, "threes are cut to twos");
  notebook::require(unit_step(single, all(1), 0x1p24f) == 0x1p24f + 2, "the result is cut");
  notebook::require(unit_step(single, all(-1), -0x1p24f) == -0x1p24f - 2, "toward zero on both sides");

  // %% [markdown]
  // So a tensor core is biased: its sums are too small in magnitude, never too large, as long as all terms
  // have one sign.
  //
  // ## Products keep their own exponent
  //
  // 1.5 · 1.5 = 2.25 is at least 2, yet its exponent counts as 0 + 0, not as 1. It matters by one bit: here
  // the large product is 2.25 · 2²⁴. With *E* = 24 the fifteen halves survive the cut at 2⁻¹; were the
  // product normalised (*E* = 25) they would vanish.
  // %%
  Sixteen a = all(0.5f);
  Sixteen b = all(1);
  a[0] = 1.5f * 4096;
  b[0] = 1.5f * 4096;
  Table exponents({"experiment", "exact", "E", "sum of cut terms", "tensor core", "one by one"});
  experiment(exponents, "2.25 * 2^24 + 15 halves", a, b, 0);
  exponents.print();
  notebook::require(step(a, b, 0).exponent == 24 && unit_step(a, b, 0) == 2.25f * 0x1p24f + 4,
                    "halves survive");

  // %% [markdown]
  // ## Inside a step order does not matter, between steps it does
  //
  // Step 4 is exact, so the sixteen terms may come in any order. A longer sum is a *chain*: the result of one
  // step is the *c* of the next, with a cut in between. Random numbers, 1,000 tries each:
  // %%
  std::mt19937 generator(1);
  const auto random_sixteen = [&] {
    Sixteen values{};
    for (float& x : values) {
      const auto whole = static_cast<float>(static_cast<int>(generator() % 255) - 127);
      x = float_from_bf16(bf16_from_float(std::ldexp(whole, static_cast<int>(generator() % 12) - 6)));
    }
    return values;
  };
  int inside = 0;
  int between = 0;
  int rule_differs = 0;
  int too_large = 0;  // of sums whose terms are all positive
  for (int i = 0; i < 1000; ++i) {
    const Sixteen a1 = random_sixteen();
    const Sixteen b1 = random_sixteen();
    const Sixteen a2 = random_sixteen();
    const Sixteen b2 = random_sixteen();
    Sixteen a_turned = a1;
    Sixteen b_turned = b1;
    std::rotate(a_turned.begin(), a_turned.begin() + 5, a_turned.end());
    std::rotate(b_turned.begin(), b_turned.begin() + 5, b_turned.end());
    inside += unit_step(a1, b1, 1) != unit_step(a_turned, b_turned, 1) ? 1 : 0;
    between += unit_step(a2, b2, unit_step(a1, b1, 1)) != unit_step(a1, b1, unit_step(a2, b2, 1)) ? 1 : 0;
    Sixteen a_positive = a1;
    Sixteen b_positive = b1;
    for (float& x : a_positive) x = std::abs(x);
    for (float& x : b_positive) x = std::abs(x);
    const double exact = exact_sum(a_positive, b_positive, 1);
    too_large += static_cast<double>(unit_step(a_positive, b_positive, 1)) > exact ? 1 : 0;
    rule_differs += step(a1, b1, 1).d != unit_step(a1, b1, 1) ? 1 : 0;
  }
  std::cout << "turned inside a step: " << inside << " of 1000 differ\n"
            << "two steps swapped:    " << between << " of 1000 differ\n"
            << "rule against model:   " << rule_differs << " of 1000 differ\n"
            << "all terms positive:   " << too_large << " of 1000 above the exact sum\n";
  notebook::require(too_large == 0, "cutting never makes a sum larger");
  notebook::require(inside == 0 && between > 100 && rule_differs == 0, "order matters between steps only");

  // %% [markdown]
  // This is why the order in which a chain visits its q tiles decides the bits of dK and dV, in steps of 16
  // rows.
  //
  // ## The hardware's own word
  //
  // A rule that explains its author's examples is cheap. The file below holds vectors that an H200 produced:
  // *c*, *a*, *b* and the *d* that it gave, bf16 and fp16, ordinary and nasty (NaNs, infinities, subnormals,
  // cancellation), chains of 16 to 128. The library's model must give every *d*; our page of code those with
  // finite, normal numbers and one step.
  // %%
  const std::string vectors = read_file(std::string(DASHLAB_TEST_DATA) + "/hopper/tensor_core_vectors.bin");
  const auto number_at = [&](std::size_t byte, std::size_t count) {  // little endian
    std::uint32_t value = 0;
    for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(vectors[byte + i]);
    return value;
  };
  std::size_t at = 0;
  int records = 0;
  int model_differs = 0;
  int ordinary = 0;
  int page_differs = 0;
  const auto is_normal = [](float x, float smallest) {
    return x == 0 || (std::abs(x) >= smallest && std::isfinite(x));
  };
  while (at < vectors.size()) {
    const std::size_t depth = number_at(at, 4) >> 16;
    const InputType type = (number_at(at + 4, 4) >> 8 & 255) == 0 ? InputType::bf16 : InputType::fp16;
    const float c = float_of(number_at(at + 8, 4));
    const std::uint32_t d = number_at(at + 12, 4);
    std::vector<std::uint16_t> operands;
    for (std::size_t i = 0; i < 2 * depth; ++i) {
      operands.push_back(static_cast<std::uint16_t>(number_at(at + 16 + 2 * i, 2)));
    }
    at += 16 + 4 * depth;
    const std::span<const std::uint16_t> all_of(operands);
    ++records;
    model_differs +=
        bits_of(tensor_core_chain(all_of.first(depth), all_of.last(depth), c, type)) != d ? 1 : 0;
    if (depth != 16) continue;
    Sixteen a16{};
    Sixteen b16{};
    const float smallest = type == InputType::bf16 ? 0x1p-126f : 0x1p-14f;
    bool normal = is_normal(c, 0x1p-126f) && is_normal(float_of(d), 0x1p-126f);
    for (std::size_t k = 0; k < 16; ++k) {
      a16[k] = to_float(operands[k], type);
      b16[k] = to_float(operands[16 + k], type);
      normal = normal && is_normal(a16[k], smallest) && is_normal(b16[k], smallest);
    }
    if (!normal || std::abs(step(a16, b16, c).exponent) > 100)
      continue;  // and away from the ends of the range
    ++ordinary;
    page_differs += bits_of(step(a16, b16, c).d) != d ? 1 : 0;
  }
  std::cout << "library's model: " << records << " records, " << model_differs << " differ\n"
            << "the page above:  " << ordinary << " records, " << page_differs << " differ\n";
  notebook::require(records == 15750 && model_differs == 0, "the model gives what the H200 gave");
  notebook::require(ordinary > 1000 && page_differs == 0, "so does the page, where it applies");

  // %% [markdown]
  // ## Two to the x
  //
  // Softmax needs exponentials, and the special-function unit gives 2^x (`ex2.approx.ftz.f32`). It is a table
  // of 64 parabolas in fixed point. Write x = n + f with a whole n and 0 <= f < 1, f in 23 bits. The top 6
  // bits of f choose the *segment*, the other 17 are the place t inside of it:
  //
  //     v = c0 · 2¹³ + c1 · t + c2 · sq(t) + 0x17e2
  //     significand = v >> 15
  //
  // sq(t) is t² / 2¹⁹, made by a squarer that cuts its partial products one by one; it is a little below the
  // true square. 0x17e2 is a rounding constant that makes up for the cuts on average. The coefficients below
  // were fitted to the GPU's own output.
  // %%
  struct Parabola {
    std::int64_t c0 = 0, c1 = 0, c2 = 0;
  };
  std::vector<Parabola> table;
  std::ifstream coefficients(std::string(DASHLAB_TEST_DATA) + "/hopper/mufu_coefficients.csv");
  for (std::string line; std::getline(coefficients, line);) {
    if (!line.starts_with("ex2,")) continue;
    Parabola p;
    char comma = ',';
    int segment = 0;
    std::istringstream(line.substr(4)) >> segment >> comma >> p.c0 >> comma >> p.c1 >> comma >> p.c2;
    table.push_back(p);
  }
  const auto square = [](std::uint32_t t) {
    std::uint32_t sum = 0;
    for (int bit = 0; bit < 17; ++bit) {
      if ((t >> bit & 1U) != 0) sum += t >> (18 - bit);
    }
    return static_cast<std::int64_t>(sum >> 1);
  };
  // 2^(1 + fraction / 2^23): the 24-bit significand as a number in [2, 4).
  const auto two_to = [&](std::uint32_t fraction) {
    const Parabola& p = table[fraction >> 17];
    const std::uint32_t t = fraction & 0x1ffffU;
    const std::int64_t v = p.c0 * 8192 + p.c1 * t + p.c2 * square(t) + 0x17e2;
    return std::ldexp(static_cast<float>(v >> 15), -22);
  };
  notebook::require(table.size() == 64, "64 segments");

  // %% [markdown]
  // By hand for x = 1.3: the table is close to Taylor's series, c1 / 2¹⁵ ≈ 2^f ln 2 and c2 / 2¹¹ ≈ 2^f (ln
  // 2)² / 2 at the segment's beginning.
  // %%
  const auto fraction = static_cast<std::uint32_t>(0.3 * (1 << 23));
  const std::uint32_t segment = fraction >> 17;
  const std::uint32_t t = fraction & 0x1ffffU;
  const Parabola& p = table[segment];
  const double begin = segment / 64.0;
  std::cout << std::setprecision(9) << "f = " << fraction << " / 2^23, segment " << segment << ", t = " << t
            << '\n'
            << "c0 = " << p.c0 << ": c0 / 2^25 = " << std::ldexp(static_cast<double>(p.c0), -25) << ", 2^("
            << segment << "/64) = " << std::exp2(begin) << '\n'
            << "c1 = " << p.c1 << ": c1 / 2^15 = " << std::ldexp(static_cast<double>(p.c1), -15)
            << ", 2^f ln 2 = " << std::exp2(begin) * std::log(2) << '\n'
            << "c2 = " << p.c2 << ": c2 / 2^11 = " << std::ldexp(static_cast<double>(p.c2), -11)
            << ", 2^f (ln 2)^2 / 2 = " << std::exp2(begin) * std::log(2) * std::log(2) / 2 << '\n'
            << "sq(t) = " << square(t) << ", t^2 / 2^19 = " << std::ldexp(static_cast<double>(t) * t, -19)
            << '\n'
            << "2^1.3 by the table " << two_to(fraction) << ", exactly "
            << std::exp2(1 + fraction / 8388608.0) << '\n';
  notebook::require(two_to(fraction) == ex2_approx_ftz(1 + std::ldexp(static_cast<float>(fraction), -23)),
                    "the table by hand is the library's ex2");

  // %% [markdown]
  // Now every eighth of the 2²³ fractions: against the library's function, how far from the truth, in units
  // of the last place of an f32, and how often that decides about a bf16.
  // %%
  std::int64_t table_differs = 0;
  std::array<std::int64_t, 2> off{};
  std::int64_t other_bf16 = 0;
  double worst = 0;
  for (std::uint32_t f = 0; f < (1U << 23); f += 8) {
    const float y = two_to(f);
    const float x = 1 + std::ldexp(static_cast<float>(f), -23);
    table_differs += y != ex2_approx_ftz(x) ? 1 : 0;
    const double truth = std::exp2(static_cast<double>(x));
    const double error = (static_cast<double>(y) - truth) * 4194304;  // 2^22
    worst = std::max(worst, std::abs(error));
    ++off[std::abs(error) < 1 ? 0 : 1];
    other_bf16 += bf16_from_float(y) != bf16_from_float(static_cast<float>(truth)) ? 1 : 0;
  }
  std::cout << (1 << 20) << " arguments, " << table_differs << " differ from the library\n"
            << "largest error " << fixed(worst, 2) << " ulp\n";
  for (std::size_t i = 0; i < off.size(); ++i) {
    std::cout << i << " to " << i + 1 << " ulp: " << fixed(100.0 * static_cast<double>(off[i]) / (1 << 20), 2)
              << " %\n";
  }
  std::cout << other_bf16 << " round to another bf16 than the truth does\n";
  notebook::require(table_differs == 0 && worst < 2, "64 parabolas are good to two units in the last place");
  notebook::require(other_bf16 > 0 && other_bf16 < 100, "few, but not none");

  // %% [markdown]
  // ## Why this matters for attention
  //
  // p = 2^(s · scale · log₂e - lse · log₂e) is computed with this unit, and then rounded to bf16 for the next
  // product, which drops 16 bits: errors of an ulp are invisible, except where p lies at the edge between two
  // bf16 numbers. There one bit decides, a few times in a million as counted above, and a layer has millions
  // of p. A model of the hardware that is right to 1 ulp reproduces most of a gradient; only one that is
  // right in every bit reproduces the gradient. That is notebook 6.
  //
  // ## Exercises
  //
  // Solutions are tests: `tests/notebooks/test_exercises_5.cpp`.
  //
  // 1. Find a step whose products sum to exactly zero, and yet d is not c.
  // 2. Add ones, sixteen a step, from zero. At which sum does the chain stand still? And one by one in f32?
  // 3. Is the unit's 2^x monotone over all 2²³ fractions of one binade? Is 2^0.5 · 2^0.5 = 2 in it?
}  // hidden
