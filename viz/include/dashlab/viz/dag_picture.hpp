// A schedule's DAG as a picture: who must come before whom, and where that closes a circle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "dashlab/core/problem.hpp"
#include "dashlab/core/schedule.hpp"
#include "dashlab/core/timeline.hpp"
#include "dashlab/core/verify.hpp"
#include "dashlab/viz/picture.hpp"

namespace dashlab::viz {

/// What the picture is made from. `problem` and `schedule` are needed; the rest adds to it.
struct DagInput {
  const Problem* problem = nullptr;
  const Schedule* schedule = nullptr;
  std::string title;
  /// Where each chain ran (Simulation::sm_of_chain). Without it a dynamic schedule's chains are dealt to the
  /// SMs in queue order, and the picture says so.
  std::span<const std::uint32_t> sm_of_chain;
  const Timeline* timeline = nullptr;          ///< its critical path is drawn bold
  const Verification* verification = nullptr;  ///< its first deadlock cycle is drawn red, its waits named
};

/// When a DAG is drawn by chains.
struct DagStyle {
  std::size_t most_nodes = 5000;   ///< above this, chains are drawn instead of tasks
  std::uint32_t most_steps = 400;  ///< on one SM, likewise
};

/// A box per task, a cluster per SM, one column per step. Program order solid, reduce order dashed, critical
/// path bold, edges against Lemma 1 of the DASH paper (from a deeper task to one less deep, depth = place in
/// the SM's program) red; tasks that a reduce order names but the mask skips stand apart in red.
Picture draw_dag(const DagInput& input, const DagStyle& style = {});

}  // namespace dashlab::viz
