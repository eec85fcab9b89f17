// Timelines in another unit or with finer ticks, so that runs and bounds can be laid side by side.
#pragma once

#include "dashlab/core/rational.hpp"
#include "dashlab/core/timeline.hpp"

namespace dashlab::viz {

/// The same run with its unit taken as `us_per_unit` microseconds, in whole nanoseconds: what a prediction
/// needs to stand beside a measurement.
Timeline in_microseconds(const Timeline& timeline, double us_per_unit);

/// Writes a lower bound, in units, into the timeline. Ticks become finer where the bound falls between two of
/// them; a bound that no tick can hold (a denominator of thousands) is rounded down.
void set_lower_bound(Timeline& timeline, const Rational& bound);

}  // namespace dashlab::viz
