// `dashlab bench --cpu`: the emulator's arithmetic on one core.
#pragma once

#include <vector>

#include "dashlab/bench/measure.hpp"

namespace dashlab::bench {

/// Products of both input types on every vector unit of this machine, beside Eigen's f32 product and the
/// scalar model; packing; powers of two. One thread. Takes some seconds.
[[nodiscard]] std::vector<Row> cpu_rows();

}  // namespace dashlab::bench
