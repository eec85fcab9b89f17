// Solutions of the exercises of notebook 2: the backward pass as tiles.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "dashlab/core/schedule.hpp"
#include "dashlab/core/simulate.hpp"
#include "dashlab/core/verify.hpp"

using namespace dashlab;

TEST_CASE("Exercise 2.1: a causal pass of n x n tiles has n(n+1)/2 tasks and n(n-1)/2 edges of each kind") {
  for (std::uint32_t n = 1; n <= 8; ++n) {
    const Problem problem = tile_problem(n, n, 1, CausalMask{});
    const TileMap tiles(problem);
    const Schedule schedule = make_schedule("descending", problem, tiles, {.sms = n});
    CHECK(schedule.steps.size() == n * (n + 1) / 2);
    CHECK(schedule.steps.size() - schedule.chains.size() == n * (n - 1) / 2);
    std::size_t reduce_edges = 0;
    for (std::size_t row = 0; row < n; ++row) reduce_edges += schedule.reduce_order(row).size() - 1;
    CHECK(reduce_edges == n * (n - 1) / 2);
  }
}

TEST_CASE("Exercise 2.2: a pass without reduce orders walks every tile twice and takes seven products") {
  // SMs that own query blocks would have to order dK and dV instead: nothing is won by turning the roles
  // around.
  const Problem problem = tile_problem(4, 4, 1, FullMask{});
  const TileMap tiles(problem);
  const Schedule schedule = make_schedule("two-pass", problem, tiles, {.sms = 4});
  CHECK(schedule.dq_mode == DqMode::second_pass);
  CHECK(schedule.reduce_kv.empty());
  CHECK(schedule.steps.size() == 2 * tiles.tasks_per_head());
  const Simulation run = simulate(problem, tiles, schedule, Costs{});
  CHECK(Rational(run.work, run.ticks_per_unit) ==
        Rational(16) * Rational(7, 5));  // 7 products, where 5 cost c
}

TEST_CASE("Exercise 2.3: of the 216 reduce orders of a full 3 x 3 pass, run as in shift, 152 deadlock") {
  const Problem problem = tile_problem(3, 3, 1, FullMask{});
  const TileMap tiles(problem);
  Schedule schedule = make_schedule("shift", problem, tiles, {.sms = 3});
  int orders = 0;
  int deadlocks = 0;
  std::array<std::array<std::uint32_t, 3>, 3> rows{{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}};
  do {
    do {
      do {
        for (std::size_t row = 0; row < 3; ++row) {
          std::copy(rows[row].begin(), rows[row].end(),
                    schedule.reduce_kv.begin() + static_cast<std::ptrdiff_t>(3 * row));
        }
        ++orders;
        deadlocks += verify(problem, tiles, schedule).deadlock_free ? 0 : 1;
      } while (std::next_permutation(rows[2].begin(), rows[2].end()));
    } while (std::next_permutation(rows[1].begin(), rows[1].end()));
  } while (std::next_permutation(rows[0].begin(), rows[0].end()));
  CHECK(orders == 216);
  CHECK(deadlocks == 152);
}
