// Solutions of the exercises of notebook 4: why shift is optimal.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "dashlab/core/bounds.hpp"
#include "dashlab/core/schedule.hpp"
#include "dashlab/core/simulate.hpp"
#include "dashlab/core/verify.hpp"

using namespace dashlab;

TEST_CASE(
    "Exercise 4.1: 576 of the 4!^4 row orders of a 4 x 4 pass form a Latin square, those without conflict") {
  std::vector<std::array<std::uint32_t, 4>> orders{{0, 1, 2, 3}};
  auto order = orders.front();
  while (std::next_permutation(order.begin(), order.end())) orders.push_back(order);
  REQUIRE(orders.size() == 24);

  const Problem problem = tile_problem(4, 4, 1, FullMask{});
  const TileMap tiles(problem);
  Schedule schedule = make_schedule("shift", problem, tiles, {.sms = 4});
  int latin_squares = 0;
  for (std::uint32_t number = 0; number < 24 * 24 * 24 * 24; ++number) {
    bool latin = true;
    std::array<std::uint32_t, 4> seen{};  // rows visited in each step, one bit each
    for (std::uint32_t kv = 0, digits = number; kv < 4; ++kv, digits /= 24) {
      for (std::size_t step = 0; step < 4; ++step) {
        const std::uint32_t bit = 1U << orders[digits % 24][step];
        latin = latin && (seen[step] & bit) == 0;
        seen[step] |= bit;
        schedule.steps[4 * kv + step] = orders[digits % 24][step];
      }
    }
    latin_squares += latin ? 1 : 0;
    if (latin || number % 101 == 0)
      REQUIRE(alignment(problem, tiles, schedule, Costs{}).conflict_free == latin);
  }
  CHECK(latin_squares == 576);
}

TEST_CASE("Exercise 4.2: the longest chain of a causal head has n tasks and runs on one SM") {
  for (std::int64_t n = 1; n <= 10; ++n) {
    const Problem problem = tile_problem(n, n, 1, CausalMask{});
    const LowerBounds bounds =
        lower_bounds(problem, TileMap(problem), static_cast<std::uint32_t>(n), Costs{});
    CHECK(bounds.longest_chain == Rational(n) * Rational(5, 4));
    CHECK(bounds.best() == bounds.longest_chain);
  }
}

TEST_CASE("Exercise 4.3: spread over 2n rows, shift is free of stalls up to a link of 2c - r") {
  const Problem problem = tile_problem(16, 8, 1, FullMask{});
  const TileMap tiles(problem);
  const Schedule spread = make_schedule("shift-spread", problem, tiles, {.sms = 8});
  const auto takes = [&](const Rational& link) {
    Costs costs;
    costs.overlap_depth = 1;
    costs.link = link;
    return simulate(problem, tiles, spread, costs).makespan_units();
  };
  const Rational stall_free = Rational(16) + Rational(1, 4);  // n_q * c + r
  CHECK(takes(0) == stall_free);
  CHECK(takes(Rational(7, 4)) == stall_free);
  CHECK(takes(Rational(176, 100)) > stall_free);
}
