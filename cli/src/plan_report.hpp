// A planned and simulated schedule with everything `plan` and `compare` say about it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "dashlab/core/bounds.hpp"
#include "dashlab/core/simulate.hpp"
#include "dashlab/core/verify.hpp"
#include "problem_flags.hpp"

namespace dashlab::cli {

struct PlanReport {
  Verification verification;
  Alignment alignment;
  Simulation simulation;
  Timeline timeline;
  LowerBounds bounds;
  std::optional<ClosedForm> closed;
};

/// Verifies, simulates and bounds; only verifies a schedule that is not valid. `resident` CTAs share an SM.
PlanReport report(const PlannedSchedule& planned, const Costs& costs, std::uint32_t resident = 1);

/// One object of format "dashlab.plan/1".
nlohmann::ordered_json to_json(const PlannedSchedule& planned, const PlanReport& report);

/// "causal, 8 x 8 tiles, 2 heads, 8 SMs".
std::string describe(const Problem& problem, std::uint32_t sms);

}  // namespace dashlab::cli
