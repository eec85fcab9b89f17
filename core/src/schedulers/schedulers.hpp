// The named schedulers, one function each. make_schedule() maps names to them.
#pragma once

#include "builder.hpp"

namespace dashlab {

struct SchedulerInput {
  const Problem& problem;
  const TileMap& tiles;
  const ScheduleOptions& options;

  [[nodiscard]] ScheduleBuilder builder(std::string_view name) const {
    return {name, problem, tiles, options};
  }
};

Schedule ascending(const SchedulerInput& in);
Schedule descending(const SchedulerInput& in);
Schedule spt(const SchedulerInput& in);
Schedule shift(const SchedulerInput& in);
Schedule shift_spread(const SchedulerInput& in);
Schedule symmetric_shift(const SchedulerInput& in);
Schedule two_pass(const SchedulerInput& in);
Schedule atomic(const SchedulerInput& in);
Schedule packed(const SchedulerInput& in);

}  // namespace dashlab
