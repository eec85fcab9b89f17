// Threshold annealing over walks, judged by the cost model itself: for costs under which tasks differ in
// length, and for rows that too many SMs want at once. In whole numbers, so that every machine finds the
// same.
#pragma once

#include <cstdint>
#include <functional>

#include "../random.hpp"
#include "arrival_run.hpp"

namespace dashlab {

/// Changes the walks for the better; returns the makespan in ticks, not above what it was. Ends after `runs`
/// runs, at `enough` ticks, or when keep_going() is false.
std::int64_t anneal(Walks& walks, ArrivalRun& run, Random& random, std::uint64_t runs, std::int64_t enough,
                    const std::function<bool()>& keep_going);

}  // namespace dashlab
