// Costs as whole ticks, so that times add up exactly.
#pragma once

#include "dashlab/core/costs.hpp"
#include "dashlab/core/schedule.hpp"

namespace dashlab {

struct TickCosts {
  std::int64_t per_unit = 1;
  std::int64_t compute = 0;
  std::int64_t compute_partial = 0;
  std::int64_t reduce = 0;
  std::int64_t chain = 0;
  std::int64_t link = 0;
};

/// Throws BadInput for negative costs, tasks without any cost, and denominators that leave no room.
TickCosts in_ticks(const Costs& costs, DqMode mode);

}  // namespace dashlab
