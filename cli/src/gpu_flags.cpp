#include "gpu_flags.hpp"

#include <fmt/format.h>

#include "dashlab/core/error.hpp"
#include "dashlab/gpu/device.hpp"

namespace dashlab::cli {

void LaunchFlags::add_to(CLI::App& command) {
  command.add_option("--perturb", perturb, "delay tasks at random from this seed: the bits must not change");
  command.add_flag("--dirty", dirty, "fill workspace and outputs with 0xff before every run");
  command.add_option("--watchdog", watchdog,
                     "seconds that a task may wait for its turn [2 and what the work may take]");
}

void LaunchFlags::check() const {
  if (perturb && *perturb == 0) throw BadInput("--perturb 0: seed 0 delays nothing; use a seed from 1");
  if (watchdog && !(*watchdog > 0 && *watchdog <= 3600))
    throw BadInput(fmt::format("--watchdog {}: must be seconds above 0, up to 3600", *watchdog));
}

gpu::BackwardOptions LaunchFlags::options(const RunInputs& inputs) const {
  gpu::BackwardOptions options;
  options.profile = gpu::profile_of(inputs.dtype);
  options.scale = inputs.run.scale;
  options.perturb_seed = perturb.value_or(0);
  options.watchdog_seconds = watchdog.value_or(0);
  return options;
}

RunInputs make_gpu_run(ComputeFlags& flags, const LaunchFlags& launch) {
  const InputFlags& input = flags.input;
  launch.check();
  for (const std::string& recipe : {input.recipe, input.forward.value_or(input.recipe)})
    if (recipe == "fa2-torch")
      throw BadInput("--recipe fa2-torch: has no GPU kernel here; use dashlab or fa3, or `dashlab emulate`");
  if (input.arrival)
    throw BadInput(
        "--arrival: the GPU has its own arrival order; use --schedule atomic, or `dashlab emulate`");
  gpu::require_device();
  RunPreferences preferences;
  preferences.kernel_tiles = true;
  preferences.forward = [](const RecipeRun& recipe, const Problem& forward, const AttentionInputs& tensors) {
    return gpu::forward_on_gpu(forward, tensors, recipe.scale);
  };
  return make_run(flags, preferences);
}

}  // namespace dashlab::cli
