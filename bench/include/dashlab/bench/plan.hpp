// `dashlab bench --plan`: building, verifying and simulating large schedules on one core.
#pragma once

#include <vector>

#include "dashlab/bench/measure.hpp"

namespace dashlab::bench {

/// seqlen 16384, 128 x 128 tiles, 256 heads, full: 4.2 million tasks on 132 SMs, for each schedule that fits;
/// then ten times as many, and the memory a task takes. One thread, by its own clock. Takes about half a
/// minute.
[[nodiscard]] std::vector<Row> plan_rows();

}  // namespace dashlab::bench
