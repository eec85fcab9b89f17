// The workspace of one planned pass: which array lies where, what is uploaded, what every run clears.
#pragma once

#include <cstddef>

#include "lowering.hpp"

namespace dashlab::gpu {

/// Offsets in bytes, 256-byte aligned. Order: uploaded arrays, then cleared ones, then those written before
/// read.
struct WorkspaceLayout {
  std::size_t chains = 0, steps = 0, cta_begin = 0, second_chains = 0, second_steps = 0, row_addends = 0,
              key_ranges = 0;
  std::size_t cleared_begin = 0;
  std::size_t tickets = 0, group_tickets = 0, queues = 0, report = 0;
  std::size_t cleared_end = 0;
  std::size_t lse2 = 0, dpsum = 0, dq_accumulator = 0, group_accumulator = 0, scratch = 0, trace = 0,
              clocks = 0;
  std::size_t end = 0;
};

/// Sizes that the lowered schedule does not know.
struct WorkspaceSizes {
  std::size_t rows = 0;        ///< heads * q tiles
  std::size_t row_floats = 0;  ///< lse2 and dpsum, each
  std::size_t dq_floats = 0;
  std::size_t group_slots = 0;   ///< kv heads * kv tiles, 0 without groups
  std::size_t group_floats = 0;  ///< per slot
  std::size_t scratch_floats = 0;
  std::size_t ctas = 0;
  bool trace = false;
};

WorkspaceLayout lay_out(const LoweredSchedule& lowered, const WorkspaceSizes& sizes);

}  // namespace dashlab::gpu
