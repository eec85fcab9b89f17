// The orders of the DASH kernels, from their formulas, and the shapes of the other schedules.
#include <doctest/doctest.h>

#include "dashlab/core/error.hpp"
#include "planning.hpp"

using namespace dashlab;
using namespace dashlab::test;

namespace {

std::vector<std::uint32_t> steps_of(const Schedule& s, std::uint32_t head, std::uint32_t kv) {
  for (std::size_t i = 0; i < s.chains.size(); ++i) {
    if (s.chains[i] == Chain{head, kv, false}) return {s.chain_steps(i).begin(), s.chain_steps(i).end()};
  }
  return {};
}

std::int64_t rank_of(const Schedule& s, std::size_t row, std::int64_t kv) {
  const auto order = s.reduce_order(row);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] == kv) return static_cast<std::int64_t>(i);
  }
  return -1;
}

std::int64_t mod(std::int64_t a, std::int64_t n) {
  return (a % n + n) % n;
}

}  // namespace

TEST_CASE(
    "Shift runs as DASH's kernel does: kv tile n starts at q tile n, rank (min(i, n_kv-1) - n) mod n_kv on "
    "row i") {
  for (const auto& [n_q, n_kv] : {std::pair{8, 8}, {13, 8}, {5, 5}, {20, 3}, {7, 6}}) {
    for (std::int64_t heads : {1, 3}) {
      const Plan plan(tile_problem(n_q, n_kv, heads, FullMask{}), "shift", 132);
      for (std::uint32_t head = 0; head < heads; ++head) {
        for (std::int64_t n = 0; n < n_kv; ++n) {
          const auto steps = steps_of(plan.schedule, head, static_cast<std::uint32_t>(n));
          REQUIRE(std::ssize(steps) == n_q);
          for (std::int64_t i = 0; i < n_q; ++i) {
            CHECK(steps[static_cast<std::size_t>(i)] == (n + i) % n_q);
            CHECK(rank_of(plan.schedule, head * static_cast<std::size_t>(n_q) + static_cast<std::size_t>(i),
                          n) == mod(std::min(i, static_cast<std::int64_t>(n_kv) - 1) - n, n_kv));
          }
        }
      }
    }
  }
}

TEST_CASE("Symmetric shift runs as DASH's kernel does, also with kv tiles that are several q tiles long") {
  for (const auto& shape : {std::pair{1, 1}, {2, 1}, {4, 1}, {5, 1}, {3, 2}, {4, 2}, {2, 3}}) {
    const int pairs = shape.first;
    const int st = shape.second;
    const std::int64_t n_kv = 2 * pairs;
    const std::int64_t n_q = st * n_kv;
    const std::int64_t rectangle = st * (pairs - 1);
    CAPTURE(pairs);
    CAPTURE(st);
    Problem p;
    p.seqlen_q = p.seqlen_k = n_q * 16;
    p.tile_q = 16;
    p.tile_kv = 16 * st;
    p.mask = CausalMask{};
    const Plan plan(p, "symmetric-shift", 132);
    for (std::int64_t j = 0; j < pairs; ++j) {
      std::vector<std::uint32_t> expected;
      for (std::int64_t i = 0; i < n_q - rectangle; ++i) {
        expected.push_back(static_cast<std::uint32_t>(rectangle + (j + i) % (n_q - rectangle)));
      }
      for (std::int64_t row = st * j; row < rectangle; ++row)
        expected.push_back(static_cast<std::uint32_t>(row));
      CHECK(steps_of(plan.schedule, 0, static_cast<std::uint32_t>(j)) == expected);
      expected.clear();
      const std::int64_t partner = n_kv - 1 - j;
      for (std::int64_t row = n_q - 1; row >= st * partner; --row)
        expected.push_back(static_cast<std::uint32_t>(row));
      CHECK(steps_of(plan.schedule, 0, static_cast<std::uint32_t>(partner)) == expected);
    }
    for (std::int64_t i = 0; i < n_q; ++i) {
      std::vector<std::int64_t> order;
      if (i >= rectangle) {
        for (std::int64_t rank = 0; rank < pairs; ++rank) {
          for (std::int64_t j = 0; j < pairs; ++j) {
            if (mod(std::min(i - rectangle, static_cast<std::int64_t>(pairs) - 1) - j, pairs) == rank)
              order.push_back(j);
          }
        }
        for (std::int64_t kv = pairs; kv < n_kv && st * kv <= i; ++kv) order.push_back(kv);
      } else {
        for (std::int64_t kv = pairs - 1; kv >= 0; --kv) {
          if (st * kv <= i) order.push_back(kv);
        }
      }
      const auto got = plan.schedule.reduce_order(static_cast<std::size_t>(i));
      CHECK(std::vector<std::int64_t>(got.begin(), got.end()) == order);
    }
  }
}

TEST_CASE("A schedule without a meaning for a mask is refused with the reason") {
  CHECK_THROWS_WITH_AS(Plan(tile_problem(4, 4, 1, CausalMask{}), "shift", 4),
                       doctest::Contains("different q tiles"), BadInput);
  CHECK_THROWS_WITH_AS(Plan(tile_problem(4, 4, 1, WindowMask{1, 1}), "symmetric-shift", 4),
                       doctest::Contains("causal"), BadInput);
  CHECK_THROWS_WITH_AS(Plan(tile_problem(4, 4, 1, FullMask{}), "sptt", 4), doctest::Contains("unknown"),
                       BadInput);
  CHECK_THROWS_WITH_AS(Plan(tile_problem(4, 4, 1, FullMask{}), "spt", 0), doctest::Contains("--sms 0"),
                       BadInput);
}

TEST_CASE("A problem without any task has an empty, valid schedule of length 0") {
  for (const std::string_view name : schedule_names()) {
    const Plan plan(tile_problem(0, 0, 2, FullMask{}), std::string(name), 3);
    CHECK(plan.verification().valid);
    CHECK(plan.makespan() == Rational(0));
    Timeline timeline;
    CHECK(plan.simulation({}, &timeline).work == 0);
    CHECK(timeline.tasks.empty());
  }
}

TEST_CASE("Two-pass does 7 products instead of 5 and never waits") {
  const Plan plan(tile_problem(6, 6, 2, FullMask{}), "two-pass", 6);
  const Simulation sim = plan.simulation(costs(1, {1, 4}));
  CHECK(Rational(sim.work, sim.ticks_per_unit) == Rational(2 * 36 * 7, 5));
  CHECK(sim.makespan_units() == Rational(2 * 6 * 7, 5));
  CHECK(sim.reduce_wait == 0);
}
