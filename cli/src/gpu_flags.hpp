// What `gpu` and `crosscheck` share: the flags of a launch, and inputs made on the GPU.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>

#include "dashlab/gpu/session.hpp"
#include "run_inputs.hpp"

namespace dashlab::cli {

/// --perturb SEED, --dirty, --watchdog SECONDS.
struct LaunchFlags {
  std::uint64_t perturb = 0;
  bool dirty = false;
  double watchdog = 0;

  void add_to(CLI::App& command);
  [[nodiscard]] gpu::BackwardOptions options(const RunInputs& inputs) const;
};

/// make_run() with o and lse from the GPU and the kernels' own tiles. Throws EnvironmentError without a GPU
/// and BadInput for a recipe that has no kernel.
RunInputs make_gpu_run(const ProblemFlags& problem, const ScheduleFlags& schedule, const InputFlags& input,
                       RunFlags& run);

}  // namespace dashlab::cli
