// Short cuts for the tests of the schedule model.
#pragma once

#include <string>

#include "dashlab/core/bounds.hpp"
#include "dashlab/core/schedule.hpp"
#include "dashlab/core/simulate.hpp"
#include "dashlab/core/verify.hpp"

namespace dashlab::test {

struct Plan {
  Problem problem;
  TileMap tiles;
  Schedule schedule;

  Plan(Problem p, const std::string& name, std::uint32_t sms, GroupMode group = GroupMode::per_head)
      : problem(std::move(p)), tiles(problem), schedule(make_schedule(name, problem, tiles, {sms, group})) {}

  [[nodiscard]] Verification verification(std::uint64_t resident = 0) const {
    return verify(problem, tiles, schedule, resident);
  }
  [[nodiscard]] Simulation simulation(const Costs& costs = {}, Timeline* timeline = nullptr) const {
    return simulate(problem, tiles, schedule, costs, timeline);
  }
  [[nodiscard]] Rational makespan(const Costs& costs = {}) const {
    return simulation(costs).makespan_units();
  }
};

inline Costs costs(const Rational& compute, const Rational& reduce) {
  Costs c;
  c.compute = compute;
  c.reduce = reduce;
  return c;
}

}  // namespace dashlab::test
