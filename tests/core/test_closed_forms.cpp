// Simulated makespans against the formulas of the paper and of docs/schedules.md, and against recorded exact
// values.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "planning.hpp"
#include "records.hpp"

using namespace dashlab;
using namespace dashlab::test;

namespace {

const std::vector<Rational> reduce_costs{{0}, {1, 4}, {1, 2}, {1}};

Rational makespan(const char* name, Mask mask, std::int64_t n, std::int64_t m, std::uint32_t sms,
                  const Rational& r) {
  return Plan(tile_problem(n, n, m, std::move(mask)), name, sms).makespan(costs(1, r));
}

template <typename Check>
void for_all(std::int64_t first_n, std::int64_t step, Check check) {
  for (const Rational& r : reduce_costs) {
    for (std::int64_t n = first_n; n <= 32; n += step) {
      for (std::int64_t m = 1; m <= 6; ++m) {
        CAPTURE(n);
        CAPTURE(m);
        CAPTURE(to_string(r));
        check(n, m, Rational(1) + r, r);
      }
    }
  }
}

std::uint32_t u(std::int64_t n) {
  return static_cast<std::uint32_t>(n);
}

}  // namespace

TEST_CASE("Full, ascending on n SMs: m*n*x + (n-1)*r") {
  for_all(2, 1, [](auto n, auto m, const Rational& x, const Rational& r) {
    CHECK(makespan("ascending", FullMask{}, n, m, u(n), r) == Rational(m * n) * x + Rational(n - 1) * r);
  });
}

TEST_CASE("Full, shift on n SMs: m*n*x, the work bound") {
  for_all(2, 1, [](auto n, auto m, const Rational& x, const Rational& r) {
    CHECK(makespan("shift", FullMask{}, n, m, u(n), r) == Rational(m * n) * x);
  });
}

TEST_CASE("Causal, ascending on n SMs takes as long as full") {
  for_all(2, 1, [](auto n, auto m, const Rational& x, const Rational& r) {
    CHECK(makespan("ascending", CausalMask{}, n, m, u(n), r) == Rational(m * n) * x + Rational(n - 1) * r);
  });
}

TEST_CASE("Causal, descending on n SMs, even m: m*(n+1)*x/2 + (n-1)*r; odd m: ((m-1)*(n+1)/2 + n)*x") {
  for_all(2, 1, [](auto n, auto m, const Rational& x, const Rational& r) {
    const Rational expected = m % 2 == 0 ? Rational(m * (n + 1), 2) * x + Rational(n - 1) * r
                                         : (Rational((m - 1) * (n + 1), 2) + Rational(n)) * x;
    CHECK(makespan("descending", CausalMask{}, n, m, u(n), r) == expected);
  });
}

TEST_CASE("Causal, symmetric shift on n SMs, even n: m*(n+1)*x/2 for even m, ceil(m/2)*(n+1)*x for odd m") {
  for_all(2, 2, [](auto n, auto m, const Rational& x, const Rational& r) {
    CHECK(makespan("symmetric-shift", CausalMask{}, n, m, u(n), r) == Rational((m + 1) / 2 * (n + 1)) * x);
  });
}

TEST_CASE("Causal, symmetric shift, odd n, even m on n SMs: m*(n+1)*x/2, the work bound") {
  for_all(3, 2, [](auto n, auto m, const Rational& x, const Rational& r) {
    if (m % 2 == 1) return;
    CHECK(makespan("symmetric-shift", CausalMask{}, n, m, u(n), r) == Rational(m * (n + 1) / 2) * x);
  });
}

TEST_CASE("Causal, symmetric shift, odd n on (n+1)/2 SMs: m*n*x, the work bound") {
  for_all(3, 2, [](auto n, auto m, const Rational& x, const Rational& r) {
    CHECK(makespan("symmetric-shift", CausalMask{}, n, m, u((n + 1) / 2), r) == Rational(m * n) * x);
  });
}

TEST_CASE("Causal, one head on n SMs: spt and descending reach n*x") {
  for_all(2, 1, [](auto n, auto m, const Rational& x, const Rational& r) {
    if (m > 1) return;
    CHECK(makespan("spt", CausalMask{}, n, 1, u(n), r) == Rational(n) * x);
    CHECK(makespan("descending", CausalMask{}, n, 1, u(n), r) == Rational(n) * x);
  });
}

TEST_CASE(
    "Causal, spt never stalls on any number of SMs, and n = 8, m = 1..6 takes 8 13 18 22 27 31 times x") {
  for_all(2, 1, [](auto n, auto m, const Rational&, const Rational& r) {
    for (std::uint32_t sms : {1U, 2U, 3U, u(n / 2), u(n - 1), u(n), u(n + 3)}) {
      if (sms == 0) continue;
      CHECK(Plan(tile_problem(n, n, m, CausalMask{}), "spt", sms).simulation(costs(1, r)).reduce_wait == 0);
    }
  });
  const std::vector<std::int64_t> in_x{8, 13, 18, 22, 27, 31};
  for (std::int64_t m = 1; m <= 6; ++m) {
    CHECK(makespan("spt", CausalMask{}, 8, m, 8, {1, 4}) ==
          Rational(in_x[static_cast<std::size_t>(m - 1)]) * Rational(5, 4));
  }
}

TEST_CASE(
    "Causal window of w tiles, one head on n SMs: ascending gains nothing, spt and descending take (w+1)*x") {
  for_all(3, 1, [](auto n, auto m, const Rational& x, const Rational& r) {
    const std::int64_t w = m;  // the head count of the sweep serves as the window
    if (w >= n) return;
    CHECK(makespan("ascending", WindowMask{w, 0}, n, 1, u(n), r) == Rational(n) * x + Rational(n - 1) * r);
    CHECK(makespan("spt", WindowMask{w, 0}, n, 1, u(n), r) == Rational(w + 1) * x);
    CHECK(makespan("descending", WindowMask{w, 0}, n, 1, u(n), r) == Rational(w + 1) * x);
  });
}

TEST_CASE(
    "Fewer q tiles than kv tiles in flight: shift takes max(n_q*x + (ceil(n_kv/n_q)-1)*r, c + n_kv*r)") {
  for (const Rational& r : reduce_costs) {
    for (std::int64_t n_q = 1; n_q <= 9; ++n_q) {
      for (std::int64_t n_kv = n_q; n_kv <= 20; ++n_kv) {
        const Rational x = Rational(1) + r;
        const Rational rows = Rational(n_q) * x + Rational((n_kv + n_q - 1) / n_q - 1) * r;
        const Plan plan(tile_problem(n_q, n_kv, 1, FullMask{}), "shift", u(n_kv));
        CAPTURE(n_q);
        CAPTURE(n_kv);
        CHECK(plan.makespan(costs(1, r)) == std::max(rows, Rational(1) + Rational(n_kv) * r));
      }
    }
  }
}

TEST_CASE("Shift on any number of SMs up to the kv tiles meets the packing bound") {
  for (std::int64_t n = 2; n <= 12; ++n) {
    for (std::int64_t m = 1; m <= 5; ++m) {
      for (std::uint32_t sms = 1; sms <= u(n); ++sms) {
        const Rational expected = Rational((m * n + sms - 1) / sms * n) * Rational(5, 4);
        CHECK(makespan("shift", FullMask{}, n, m, sms, {1, 4}) == expected);
      }
    }
  }
}

TEST_CASE(
    "Overlapped model: ascending keeps its bubble; shift and symmetric shift are stall-free iff link <= c - "
    "r") {
  for (std::int64_t n = 3; n <= 12; ++n) {
    for (const Rational& r : {Rational(1, 4), Rational(1, 2), Rational(3, 4)}) {
      Costs c = costs(1, r);
      c.overlap_depth = 1;
      const Plan ascending(tile_problem(n, n, 1, FullMask{}), "ascending", u(n));
      CHECK(ascending.makespan(c) == Rational(n) + Rational(n) * r);
      for (const auto& [name, mask] :
           {std::pair<const char*, Mask>{"shift", FullMask{}}, {"symmetric-shift", CausalMask{}}}) {
        if (name == std::string("symmetric-shift") && n % 2 == 1) continue;
        const Plan plan(tile_problem(n, n, 1, mask), name, u(name == std::string("shift") ? n : n / 2));
        c.link = Rational(1) - r;
        CHECK(plan.simulation(c).reduce_wait == 0);
        c.link = Rational(1) - r + Rational(1, 100);
        CHECK(plan.simulation(c).makespan_units() > Plan(plan).makespan(costs(1, 0)) + r);
      }
    }
  }
}

TEST_CASE("Offsets spread over twice as many q tiles tolerate link <= 2c - r") {
  for (std::uint32_t n = 2; n <= 10; ++n) {
    Costs c = costs(1, {1, 2});
    c.overlap_depth = 1;
    const Plan plan(tile_problem(2 * n, n, 1, FullMask{}), "shift-spread", n);
    c.link = Rational(3, 2);
    CHECK(plan.simulation(c).reduce_wait == 0);
    c.link = Rational(151, 100);
    CHECK(plan.makespan(c) > Rational(2 * n) + Rational(1, 2));
  }
}

TEST_CASE("closed_form() is what the simulator finds, wherever it gives a value") {
  int values = 0;
  for (const std::string_view name : schedule_names()) {
    for (const Mask& mask : {Mask(FullMask{}), Mask(CausalMask{}), Mask(WindowMask{2, 0})}) {
      for (std::int64_t n = 1; n <= 9; ++n) {
        for (std::int64_t m = 1; m <= 4; ++m) {
          for (std::uint32_t sms = 1; sms <= 10; ++sms) {
            const Problem p = tile_problem(n, n, m, mask);
            const auto closed = closed_form(name, p, sms, costs(1, {1, 4}));
            if (!closed) continue;
            ++values;
            CAPTURE(name);
            CAPTURE(to_string(mask));
            CAPTURE(n);
            CAPTURE(m);
            CAPTURE(sms);
            CHECK(Plan(p, std::string(name), sms).makespan(costs(1, {1, 4})) == closed->makespan);
          }
        }
      }
    }
  }
  CHECK(values > 600);
}

TEST_CASE(
    "The recorded exact makespans: named schedules are met, proven optima are never below the lower bound") {
  const auto records = schedule_records();
  REQUIRE(records.size() == 239);
  for (const Record& record : records) {
    CAPTURE(record.text);
    if (record.schedule == "optimal") {
      const LowerBounds bounds =
          lower_bounds(record.problem, TileMap(record.problem), record.sms, record.costs);
      CHECK(bounds.best() <= record.makespan);
      CHECK(bounds.packing_exact());
      CHECK(bounds.packing == record.packing_bound);
    } else {
      CHECK(Plan(record.problem, record.schedule, record.sms).makespan(record.costs) == record.makespan);
    }
  }
}

TEST_CASE("A chain costs its SM the same however long it is") {
  Costs c;
  c.chain = 2;
  const Plan pairs(tile_problem(8, 8, 2, CausalMask{}), "symmetric-shift", 8);  // two chains on each SM
  CHECK(pairs.makespan() == Rational(45, 4));
  CHECK(pairs.makespan(c) == Rational(45, 4) + Rational(2 * 2));
  CHECK(lower_bounds(pairs.problem, pairs.tiles, 8, c).best() == Rational(61, 4));
  CHECK_FALSE(closed_form("symmetric-shift", pairs.problem, 8, c));
}
