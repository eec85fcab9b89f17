// The optimiser and the schedule `packed` that it makes.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "dashlab/core/error.hpp"
#include "dashlab/core/optimize.hpp"
#include "planning.hpp"
#include "records.hpp"

using namespace dashlab;
using namespace dashlab::test;

namespace {

Optimized search(const Problem& problem, const OptimizeOptions& options) {
  return optimize("found", problem, TileMap(problem), options);
}

OptimizeOptions on(std::uint32_t sms, const Costs& costs = {}) {
  OptimizeOptions options;
  options.sms = sms;
  options.costs = costs;
  return options;
}

}  // namespace

TEST_CASE("The optimiser reaches every optimum that an exact search proved") {
  int optima = 0;
  for (const Record& record : schedule_records()) {
    if (record.schedule != "optimal") continue;
    CAPTURE(record.text);
    CHECK(search(record.problem, on(record.sms, record.costs)).makespan == record.makespan);
    ++optima;
  }
  CHECK(optima == 79);
}

TEST_CASE("packed reaches the packing bound where every other name stays above it") {
  struct Case {
    const char* mask;
    std::int64_t n, heads;
    std::uint32_t sms;
  };
  for (const Case& c : {Case{"causal", 8, 1, 3}, Case{"causal", 16, 3, 7}, Case{"causal", 37, 5, 132},
                        Case{"documents:20,30,14", 64, 8, 132}, Case{"window:16,0", 128, 16, 132}}) {
    CAPTURE(std::string(c.mask));
    const Plan plan(tile_problem(c.n, c.n, c.heads, parse_mask(c.mask)), "packed", c.sms);
    const LowerBounds bounds = lower_bounds(plan.problem, plan.tiles, c.sms, Costs{});
    CHECK(plan.verification().valid);
    CHECK(plan.makespan() == bounds.best());
    for (const std::string_view name : schedule_names()) {
      if (name == "packed" || name == "two-pass" || name == "atomic") continue;
      try {
        const Plan other(plan.problem, std::string(name), c.sms);
        CAPTURE(name);
        CHECK(other.makespan() > bounds.best());
      } catch (const BadInput&) {  // no meaning for this mask
      }
    }
  }
}

TEST_CASE("Where every SM is busy to the end, packed meets no row twice at a time and keeps Lemma 1") {
  for (const std::int64_t heads : {2, 3}) {
    const Plan plan(tile_problem(5, 5, heads, CausalMask{}), "packed",
                    static_cast<std::uint32_t>(heads == 2 ? 3 : 5));
    const Alignment aligned = alignment(plan.problem, plan.tiles, plan.schedule, Costs{});
    CHECK(plan.simulation().utilisation() == 1);
    CHECK(aligned.conflict_free);
    CHECK(aligned.lemma1);
  }
}

TEST_CASE(
    "What is found is valid, as long as it is said to be, and never longer than the best named schedule") {
  Costs uneven = costs(1, {1, 3});
  uneven.compute_partial = Rational(3, 5);
  uneven.link = Rational(1, 7);
  Costs overlapped = costs(1, {4, 5});
  overlapped.overlap_depth = 1;
  overlapped.link = Rational(1, 10);
  Costs of_chains;
  of_chains.chain = Rational(7, 4);
  for (const Costs& c : {Costs{}, uneven, overlapped, of_chains}) {
    for (const char* mask : {"full", "causal", "window:2,1", "documents:3,0,4f,2"}) {
      for (const GroupMode mode : {GroupMode::per_head, GroupMode::gathered}) {
        Problem problem = tile_problem(9, 9, 4, parse_mask(mask));
        problem.kv_heads = 2;
        problem.batch = 2;
        const TileMap tiles(problem);
        OptimizeOptions options = on(7, c);
        options.group_mode = mode;
        options.rounds = 8;
        const Optimized found = optimize("found", problem, tiles, options);
        CAPTURE(mask);
        CHECK(found.schedule.name == "found");
        CHECK(verify(problem, tiles, found.schedule).valid);
        CHECK(simulate(problem, tiles, found.schedule, c).makespan_units() == found.makespan);
        CHECK(found.makespan <= found.best_named_makespan);
        CHECK(found.makespan >= found.lower_bound);
      }
    }
  }
}

TEST_CASE("Fewer q tiles than SMs in flight: nothing is conflict-free, and the search still helps") {
  const Problem problem = tile_problem(4, 16, 2, FullMask{});
  OptimizeOptions options = on(16);
  options.rounds = 100;
  const Optimized found = search(problem, options);
  CHECK(found.best_named_makespan == Rational(43, 4));
  CHECK(found.makespan < found.best_named_makespan);
}

TEST_CASE("The seed decides the outcome") {
  const Problem problem = tile_problem(12, 12, 3, parse_mask("window:3,0"));
  Costs uneven;
  uneven.compute_partial = Rational(3, 5);
  OptimizeOptions options = on(7, uneven);
  const Schedule once = search(problem, options).schedule;
  CHECK(search(problem, options).schedule == once);
  options.seed = 1;
  CHECK(search(problem, options).schedule != once);
}

TEST_CASE("A search ends when it is told to, when it is near enough and when the bound is reached") {
  const Problem problem = tile_problem(16, 16, 3, parse_mask("window:3,0"));
  Costs uneven;
  uneven.compute_partial = Rational(3, 5);
  OptimizeOptions options = on(8, uneven);
  options.keep_going = [](const OptimizeProgress& progress) { return progress.rounds < 2; };
  CHECK(search(problem, options).rounds == 2);
  options = on(8);
  options.gap = 0.5;
  CHECK(search(problem, options).rounds == 0);
  options = on(3);
  options.rounds = 1'000'000'000;
  CHECK(search(tile_problem(8, 8, 1, CausalMask{}), options).optimal());
}

TEST_CASE("The search counts what chains cost beside their tasks") {
  Problem problem = tile_problem(32, 16, 16, CausalMask{});
  problem.batch = 8;
  const TileMap tiles(problem);
  OptimizeOptions options = on(132);
  options.costs.chain = 2;
  options.rounds = 2;
  const Optimized found = optimize("found", problem, tiles, options);
  const Schedule packed = make_schedule("packed", problem, tiles, {132});
  CHECK(found.makespan < found.best_named_makespan);
  CHECK(found.best_named_makespan < simulate(problem, tiles, packed, options.costs).makespan_units());
}

TEST_CASE("Where longest-first packs badly the search still packs as well as another program did") {
  struct Case {
    std::int64_t n, heads;
    std::uint32_t sms;
    Rational chain, reached;  // by simulated annealing outside of this project
  };
  for (const Case& c : {Case{7, 5, 6, {3, 10}, {156, 5}}, Case{12, 5, 7, {1, 5}, {358, 5}}}) {
    OptimizeOptions options = on(c.sms);
    options.costs.chain = c.chain;
    CHECK(search(tile_problem(c.n, c.n, c.heads, CausalMask{}), options).makespan <= c.reached);
  }
}
