// `dashlab bench --cpu`: whole backward passes of the emulator.
#pragma once

#include <vector>

#include "dashlab/bench/measure.hpp"

namespace dashlab::bench {

/// One causal head of 4096 queries at d 128 under recipe fa3: on one thread, per core and beside the product
/// alone, and on all. Counts the five products of the tiles that are computed. Takes some seconds.
[[nodiscard]] std::vector<Row> backward_rows();

}  // namespace dashlab::bench
