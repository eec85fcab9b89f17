#include "tick_costs.hpp"

#include <algorithm>
#include <numeric>

#include "dashlab/core/error.hpp"

namespace dashlab {

TickCosts in_ticks(const Costs& costs, DqMode mode) {
  const Rational partial = costs.compute_partial.value_or(costs.compute);
  TickCosts ticks;
  for (const Rational& cost : {costs.compute, partial, costs.reduce, costs.chain, costs.link}) {
    if (cost < Rational(0))
      throw BadInput("--compute, --reduce, --chain, --link: a cost is negative; use 0 or more");
    ticks.per_unit = std::lcm(ticks.per_unit, cost.den());
    if (ticks.per_unit > (std::int64_t{1} << 30)) {
      throw BadInput(
          "--compute, --reduce, --chain, --link: the common denominator is too large; use rounder numbers");
    }
  }
  if (costs.compute + costs.reduce == Rational(0) || partial + costs.reduce == Rational(0)) {
    throw BadInput("--compute, --reduce: a task takes no time; make one of them larger than 0");
  }
  if (costs.overlap_depth < 0) throw BadInput("--model overlapped:D: D is negative; use 0, 1, 2, ...");
  if (costs.jitter)
    ticks.per_unit *= (std::int64_t{1} << 20) / std::max<std::int64_t>(1, ticks.per_unit >> 10);
  if (mode == DqMode::second_pass) ticks.per_unit *= 5;  // its tasks cost 4/5 and 3/5
  const auto scale = [&](const Rational& cost) { return (cost * Rational(ticks.per_unit)).num(); };
  ticks.compute = scale(costs.compute);
  ticks.compute_partial = scale(partial);
  ticks.reduce = scale(costs.reduce);
  ticks.chain = scale(costs.chain);
  ticks.link = scale(costs.link);
  return ticks;
}

}  // namespace dashlab
