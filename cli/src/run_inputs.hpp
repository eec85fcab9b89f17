// What `emulate` and `gpu` compute on: tensors from a seed or a file, with problem, recipe and schedule to go
// with them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dashlab/emulator/inputs.hpp"
#include "dashlab/emulator/recipes.hpp"
#include "dashlab/emulator/safetensors.hpp"
#include "problem_flags.hpp"
#include "run_flags.hpp"

namespace dashlab::cli {

/// --seed N | --input FILE, --profile, --recipe, --forward RECIPE, --scale, --arrival random:SEED.
struct InputFlags {
  std::optional<std::uint64_t> seed;
  std::optional<std::string> input, profile, forward, scale, arrival;
  std::string recipe = "dashlab";

  void add_to(CLI::App& command);
};

/// What every command that computes takes: the flags of problem, schedule and inputs, --threads and --json.
struct ComputeFlags {
  ProblemFlags problem;
  ScheduleFlags schedule;
  InputFlags input;
  RunFlags run;
  bool json = false;

  /// `format` is what --json prints.
  void add_to(CLI::App& command, const std::string& format);
};

/// Owns everything a run reads. o and lse come from the file or from the forward recipe.
struct RunInputs {
  RecipeRun run;
  PlannedSchedule plan;
  AttentionInputs tensors;
  DType dtype = DType::bf16;
  std::unique_ptr<SafetensorsFile> file;
  SeededInputs seeded;
  std::optional<ForwardResult> forward;  ///< set where o and lse were computed here

  /// What a saved result says about itself; the same keys that `audit` reads.
  [[nodiscard]] Metadata metadata(const ComputeFlags& flags) const;
};

/// How a run's o and lse are made where the file has none: recipe, problem with the forward tiles, q k v.
using ForwardRunner = std::function<ForwardResult(const RecipeRun&, const Problem&, const AttentionInputs&)>;

/// What `gpu` and `crosscheck` want otherwise than `emulate`.
struct RunPreferences {
  ForwardRunner forward;      ///< none: on the CPU
  bool kernel_tiles = false;  ///< 16-bit tensors: tiles that no flag gives are those of the Hopper kernels
};

/// Throws BadInput where flags, file and recipe contradict each other.
RunInputs make_run(ComputeFlags& flags, const RunPreferences& preferences = {});

/// What a run computed: the gradients, and o and lse where they were not given.
std::vector<std::pair<std::string, TensorView>> computed_tensors(const RunInputs& inputs,
                                                                 const Gradients& gradients);

/// The tensors of a saved run, in the order in which they are written.
std::vector<std::pair<std::string, TensorView>> saved_tensors(const RunInputs& inputs,
                                                              const Gradients& gradients);

}  // namespace dashlab::cli
