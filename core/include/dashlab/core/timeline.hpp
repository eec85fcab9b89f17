// What happened when: the common format of simulated and measured runs, and the input of every picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dashlab/core/types.hpp"

namespace dashlab {

/// One task on one SM. Times are whole ticks; see Timeline::ticks_per_unit.
/// compute_start <= compute_end <= reduce_start <= reduce_end. Waiting for the rank is reduce_start -
/// compute_end less the time the SM's own earlier reduce took. A task without reduce has reduce_start =
/// reduce_end.
struct TaskSpan {
  HeadId head{};
  QTile q{};
  KvTile kv{};
  SmId sm{};
  std::uint32_t rank = 0;    ///< place in the reduce order of (head, q)
  std::uint32_t chain = 0;   ///< index into Schedule::chains
  bool second_pass = false;  ///< dQ pass of two-pass: the chain owns q
  std::int64_t compute_start = 0;
  std::int64_t compute_end = 0;
  std::int64_t reduce_start = 0;
  std::int64_t reduce_end = 0;
};

enum class Phase : std::uint8_t { compute, reduce };

/// A step of the critical path: an index into Timeline::tasks and the phase that is critical.
struct CriticalStep {
  std::size_t task = 0;
  Phase phase = Phase::compute;
};

/// A whole run, simulated or measured. `tasks` are sorted by SM, then by start.
struct Timeline {
  std::string title;       ///< schedule and mask, for captions
  std::string unit = "c";  ///< name of the time unit: "c" (cost of a full tile) or "us"
  std::int64_t ticks_per_unit = 1;
  std::uint32_t sms = 0;
  std::int64_t makespan = 0;     ///< ticks
  std::int64_t lower_bound = 0;  ///< ticks; 0 when none is known
  std::vector<TaskSpan> tasks;
  std::vector<CriticalStep> critical_path;  ///< from start to makespan; empty when unknown
};

}  // namespace dashlab
