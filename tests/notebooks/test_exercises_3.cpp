// Solutions of the exercises of notebook 3: bubbles.
#include <doctest/doctest.h>

#include "dashlab/core/bounds.hpp"
#include "dashlab/core/schedule.hpp"
#include "dashlab/core/simulate.hpp"

using namespace dashlab;

namespace {

Simulation run(const char* name, std::int64_t n, std::int64_t heads, const Mask& mask,
               const Costs& costs = {}) {
  const Problem problem = tile_problem(n, n, heads, mask);
  const TileMap tiles(problem);
  return simulate(problem, tiles, make_schedule(name, problem, tiles, {.sms = static_cast<std::uint32_t>(n)}),
                  costs);
}

const Rational x{5, 4};  // c + r
const Rational r{1, 4};

}  // namespace

TEST_CASE(
    "Exercise 3.1: when reducing costs as much as computing, ascending takes 8 * 2 + 7 for 8 x 8 tiles") {
  Costs costs;
  costs.reduce = 1;
  CHECK(run("ascending", 8, 1, FullMask{}, costs).makespan_units() == Rational(23));
}

TEST_CASE("Exercise 3.2: spt and descending run one causal head in n * x, the length of its longest chain") {
  for (std::int64_t n = 2; n <= 12; ++n) {
    const Problem problem = tile_problem(n, n, 1, CausalMask{});
    const auto sms = static_cast<std::uint32_t>(n);
    CHECK(lower_bounds(problem, TileMap(problem), sms, Costs{}).longest_chain == Rational(n) * x);
    CHECK(run("spt", n, 1, CausalMask{}).makespan_units() == Rational(n) * x);
    CHECK(run("descending", n, 1, CausalMask{}).makespan_units() == Rational(n) * x);
    CHECK(run("ascending", n, 1, CausalMask{}).makespan_units() > Rational(n) * x);
  }
}

TEST_CASE("Exercise 3.3: a window of w tiles saves ascending nothing, and descending all but w + 1 tasks") {
  const std::int64_t n = 8;
  for (std::int64_t w = 1; w < n; ++w) {
    const WindowMask window{w, 0};
    CHECK(run("ascending", n, 1, window).makespan_units() == Rational(n) * x + Rational(n - 1) * r);
    CHECK(run("descending", n, 1, window).makespan_units() == Rational(w + 1) * x);
  }
}

TEST_CASE("Exercise 3.4: from 32 heads on, descending loses less than one percent for 8 x 8 causal tiles") {
  const auto lost = [](std::int64_t heads) {
    return 1 - run("descending", 8, heads, CausalMask{}).utilisation();
  };
  CHECK(lost(30) > 0.01);
  CHECK(lost(32) < 0.01);
}
