// A named schedule, planned and simulated, as the command line does it.
#pragma once

#include "dashlab/core/simulate.hpp"
#include "dashlab/core/verify.hpp"

struct Planned {
  dashlab::Problem problem;
  dashlab::TileMap tiles;
  dashlab::Schedule schedule;
  dashlab::Timeline timeline;
  dashlab::Simulation simulation;

  Planned(std::string_view name, dashlab::Problem p, std::uint32_t sms, const dashlab::Costs& costs = {})
      : problem(std::move(p)),
        tiles(problem),
        schedule(dashlab::make_schedule(name, problem, tiles, {sms})),
        simulation(dashlab::simulate(problem, tiles, schedule, costs, &timeline)) {
    timeline.title = std::string(name);
  }
};
