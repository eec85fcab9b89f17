// The schedule that the optimiser finds in the default cost model, with a fixed effort: the same on every
// machine.
#include "dashlab/core/optimize.hpp"
#include "schedulers.hpp"

namespace dashlab {

Schedule packed(const SchedulerInput& in) {
  OptimizeOptions options;
  options.sms = in.options.sms;
  options.group_mode = in.options.group_mode;
  return optimize("packed", in.problem, in.tiles, options).schedule;
}

}  // namespace dashlab
