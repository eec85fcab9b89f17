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
  std::optional<std::uint64_t> perturb;
  std::optional<double> watchdog;
  bool dirty = false;

  void add_to(CLI::App& command);
  /// Throws BadInput for a value without a meaning.
  void check() const;
  [[nodiscard]] gpu::BackwardOptions options(const RunInputs& inputs) const;
};

/// make_run() with o and lse from the GPU and the kernels' own tiles. Throws EnvironmentError without a GPU
/// and BadInput for a recipe that has no kernel.
RunInputs make_gpu_run(ComputeFlags& flags, const LaunchFlags& launch);

}  // namespace dashlab::cli
