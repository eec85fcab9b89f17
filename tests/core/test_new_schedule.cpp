// The example of CONTRIBUTING.md, "Add a schedule": the code between the marks stands there word for word.
// begin: core/src/schedulers/longest_first.cpp
#include "schedulers.hpp"

namespace dashlab {

// The longest chain first, onto the SM with the least work; every chain from its first row down.
Schedule longest_first(const SchedulerInput& in) {
  ScheduleBuilder builder = in.builder("longest-first");
  std::vector<Unit> units;
  for (std::uint32_t owner = 0; owner < builder.owners(); ++owner) {
    for (std::uint32_t kv = 0; kv < in.tiles.kv_tiles(); ++kv) {
      const auto rows = in.tiles.column(KvTile{kv});
      units.push_back({{PlannedChain{owner, kv, {rows.begin(), rows.end()}}}});
    }
  }
  builder.place_statically(std::move(units));
  builder.reduce_by_arrival();
  return builder.finish();
}

}  // namespace dashlab
// end

// begin: tests/core/test_longest_first.cpp
#include <doctest/doctest.h>

#include "planning.hpp"
#include "schedulers.hpp"

using namespace dashlab;

TEST_CASE("Longest first is valid for every mask, and the shortest for causal 4 x 4, 2 heads, 3 SMs") {
  for (const char* mask : {"full", "causal", "window:2,1", "documents:3,0,4f"}) {
    const Problem problem = tile_problem(7, 7, 2, parse_mask(mask));
    const TileMap tiles(problem);
    CHECK(verify(problem, tiles, longest_first({problem, tiles, {5}})).valid);
  }
  const Problem problem = tile_problem(4, 4, 2, CausalMask{});
  const TileMap tiles(problem);
  const Schedule schedule = longest_first({problem, tiles, {3}});
  const Rational makespan = simulate(problem, tiles, schedule, Costs{}).makespan_units();
  CHECK(makespan == Rational(35, 4));
  CHECK(makespan == lower_bounds(problem, tiles, 3, Costs{}).packing);
  for (const char* name : {"ascending", "descending", "spt", "symmetric-shift"}) {
    CHECK(makespan <
          simulate(problem, tiles, make_schedule(name, problem, tiles, {3}), Costs{}).makespan_units());
  }
}
// end
