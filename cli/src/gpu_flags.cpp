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

gpu::BackwardOptions LaunchFlags::options(const RunInputs& inputs) const {
  if (!(watchdog >= 0 && watchdog <= 3600)) throw BadInput("--watchdog: a number of seconds from 0 to 3600");
  gpu::BackwardOptions options;
  options.profile = gpu::profile_of(inputs.dtype);
  options.scale = inputs.run.scale;
  options.perturb_seed = perturb;
  options.watchdog_seconds = watchdog;
  return options;
}

RunInputs make_gpu_run(const ProblemFlags& problem, const ScheduleFlags& schedule, const InputFlags& input,
                       RunFlags& run) {
  gpu::require_device();
  for (const std::string& recipe : {input.recipe, input.forward.value_or(input.recipe)})
    if (recipe == "fa2-torch")
      throw BadInput("--recipe fa2-torch: has no GPU kernel here; use dashlab or fa3, or `dashlab emulate`");
  if (input.arrival)
    throw BadInput(
        "--arrival: the GPU has its own arrival order; use --schedule atomic, or `dashlab emulate`");
  RunPreferences preferences;
  preferences.kernel_tiles = true;
  preferences.forward = [](const RecipeRun& recipe, const Problem& forward, const AttentionInputs& tensors) {
    return gpu::forward_on_gpu(forward, tensors, recipe.scale);
  };
  return make_run(problem, schedule, input, run, preferences);
}

}  // namespace dashlab::cli
