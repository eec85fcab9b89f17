// The discrete-event simulator: exact times of a schedule under a cost model.
#pragma once

#include <cstdint>
#include <vector>

#include "dashlab/core/costs.hpp"
#include "dashlab/core/problem.hpp"
#include "dashlab/core/schedule.hpp"
#include "dashlab/core/timeline.hpp"

namespace dashlab {

/// Where the time of one SM went, in ticks. Their sum is the makespan (serial model).
struct SmUse {
  std::int64_t busy = 0;
  std::int64_t reduce_wait = 0;  ///< waiting for a rank
  std::int64_t startup = 0;      ///< before its first task
  std::int64_t tail = 0;         ///< after its last task: imbalance
};

/// Totals of a run. Times are ticks of 1 / ticks_per_unit.
struct Simulation {
  std::int64_t ticks_per_unit = 1;
  std::int64_t makespan = 0;
  std::int64_t work = 0;  ///< sum of all phases (serial), of all compute phases (overlapped)
  std::int64_t reduce_wait = 0;
  std::int64_t startup = 0;
  std::int64_t tail = 0;
  std::vector<SmUse> sms;
  std::vector<std::uint32_t> sm_of_chain;  ///< where each chain ran

  /// The makespan in units of cost.
  [[nodiscard]] Rational makespan_units() const { return {makespan, ticks_per_unit}; }
  /// work / (SMs * makespan), 0..1.
  [[nodiscard]] double utilisation() const;
};

/// Simulates a complete schedule (see verify()). With `timeline` the task times are written there too (64
/// bytes a task), with the critical path.
///
/// With resident_per_sm > 1, that many CTAs of a dynamic schedule share an SM: its compute engine serves
/// whoever is ready first, while adds of the others go on beside it (serial model within a CTA; busy then
/// counts compute alone, and no critical path is walked). Throws BadInput when the schedule deadlocks or a
/// cost is out of range, and for a static schedule with more than one resident CTA.
Simulation simulate(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                    const Costs& costs, Timeline* timeline = nullptr, std::uint32_t resident_per_sm = 1);

}  // namespace dashlab
