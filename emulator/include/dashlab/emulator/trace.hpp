// Where two results part: the task and the step at which their sums take different ways.
#pragma once

#include <string>

#include "dashlab/emulator/audit.hpp"

namespace dashlab {

/// One of the two runs: what it was made of. The schedule may be empty for fa2-torch.
struct TracedRun {
  RecipeRun run;
  Problem problem;
  Schedule schedule;
};

/// Follows element `index` of `tensor` ("dq", "dk" or "dv") through both runs on the same inputs and says at
/// which step the running sums differ first, or that both runs must give the same bits. One line.
std::string trace_element(const std::string& tensor, const std::vector<std::int64_t>& index,
                          const AttentionInputs& inputs, const TracedRun& a, const TracedRun& b);

}  // namespace dashlab
