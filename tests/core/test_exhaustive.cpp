// The exact optimum of tiny problems, and which named schedules reach it.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "dashlab/core/error.hpp"
#include "exhaustive.hpp"
#include "planning.hpp"

using namespace dashlab;
using namespace dashlab::test;

namespace {

// c = 4, r = 1: the costs of the recorded optima in ticks of 1/4.
constexpr std::int64_t compute = 4;
constexpr std::int64_t reduce = 1;

struct Optimum {
  std::int64_t ticks = 0;
  LowerBounds bounds;
  std::set<std::string> reached_by;
};

Optimum solve(const Problem& problem, std::uint32_t sms) {
  const TileMap tiles(problem);
  const Costs c = costs(compute, reduce);
  Optimum result;
  result.bounds = lower_bounds(problem, tiles, sms, c);
  const Rational bound = result.bounds.best();
  ExhaustiveSearch search(problem, tiles, sms, compute, reduce);
  result.ticks = search.optimum((bound.num() + bound.den() - 1) / bound.den(), 1);

  const Schedule best = search.schedule(sms);
  REQUIRE(verify(problem, tiles, best).valid);
  REQUIRE(simulate(problem, tiles, best, c).makespan_units() == Rational(result.ticks));

  for (const std::string_view name : schedule_names()) {
    if (name == "two-pass" || name == "atomic") continue;  // they reduce nothing in order
    try {
      const Rational makespan = Plan(problem, std::string(name), sms).makespan(c);
      REQUIRE(makespan >= Rational(result.ticks));
      if (makespan == Rational(result.ticks)) result.reached_by.emplace(name);
    } catch (const BadInput&) {
    }
  }
  return result;
}

Optimum solve(std::int64_t q, std::int64_t kv, std::int64_t heads, const char* mask, std::uint32_t sms) {
  return solve(tile_problem(q, kv, heads, parse_mask(mask)), sms);
}

}  // namespace

TEST_CASE("Full masks, n <= 4, any SMs: the packing bound is the optimum and shift reaches it") {
  for (std::int64_t n = 1; n <= 4; ++n) {
    for (std::uint32_t sms = 1; sms <= n; ++sms) {
      CAPTURE(n);
      CAPTURE(sms);
      const Optimum o = solve(n, n, 1, "full", sms);
      CHECK(Rational(o.ticks) == o.bounds.packing);
      CHECK(o.reached_by.contains("shift"));
      if (n > 1 && sms == n) CHECK_FALSE(o.reached_by.contains("ascending"));
    }
  }
}

TEST_CASE("Causal masks, n <= 5, any SMs: the packing bound is the optimum") {
  for (std::int64_t n = 1; n <= 5; ++n) {
    for (std::uint32_t sms = 1; sms <= n; ++sms) {
      CAPTURE(n);
      CAPTURE(sms);
      const Optimum o = solve(n, n, 1, "causal", sms);
      CHECK(Rational(o.ticks) == o.bounds.packing);
      if (sms == n) {
        CHECK(o.reached_by.contains("spt"));
        CHECK(o.reached_by.contains("descending"));
      }
      if (2 * sms == n || 2 * sms == n + 1) CHECK(o.reached_by.contains("symmetric-shift"));
    }
  }
}

TEST_CASE("Causal, two heads in flight: symmetric shift reaches the optimum on n SMs, odd n too") {
  for (std::int64_t n = 2; n <= 4; ++n) {
    const Optimum o = solve(n, n, 2, "causal", static_cast<std::uint32_t>(n));
    CAPTURE(n);
    CHECK(o.ticks == (n + 1) * (compute + reduce));
    CHECK(o.reached_by.contains("symmetric-shift"));
  }
}

TEST_CASE(
    "Windows, and packed documents: the packing bound is the optimum; spt reaches it on a window's n SMs") {
  for (const char* mask : {"window:1,0", "window:2,0", "window:1,1", "documents:2,3", "documents:3,0,2f"}) {
    for (std::uint32_t sms = 1; sms <= 5; ++sms) {
      CAPTURE(mask);
      CAPTURE(sms);
      const Optimum o = solve(5, 5, 1, mask, sms);
      CHECK(Rational(o.ticks) == o.bounds.best());
      if (std::string(mask).starts_with("window") && sms == 5) CHECK(o.reached_by.contains("spt"));
    }
  }
}

TEST_CASE(
    "Fewer q tiles than kv tiles in flight: the optimum is above the packing bound and shift reaches it") {
  for (std::int64_t q = 1; q <= 3; ++q) {
    for (std::int64_t kv = q + 1; kv <= 5; ++kv) {
      CAPTURE(q);
      CAPTURE(kv);
      const Optimum o = solve(q, kv, 1, "full", static_cast<std::uint32_t>(kv));
      const std::int64_t rows = q * (compute + reduce) + ((kv + q - 1) / q - 1) * reduce;
      CHECK(o.ticks == std::max(rows, compute + kv * reduce));
      CHECK(Rational(o.ticks) > o.bounds.packing);
      CHECK(o.reached_by.contains("shift"));
    }
  }
}

TEST_CASE("More q tiles than kv tiles: shift stays optimal; bottom-right causal rectangles meet the bound") {
  CHECK(solve(4, 3, 1, "full", 3).reached_by.contains("shift"));
  CHECK(solve(4, 2, 1, "full", 2).reached_by.contains("shift"));
  for (std::uint32_t sms = 1; sms <= 3; ++sms) {
    const Optimum o = solve(4, 3, 1, "causal", sms);
    CHECK(Rational(o.ticks) == o.bounds.best());
  }
}
