#include "run_inputs.hpp"

#include <fmt/format.h>

#include "dashlab/core/error.hpp"
#include "dashlab/emulator/arrival.hpp"

namespace dashlab::cli {

namespace {

/// A size that the file gives, which a flag may repeat but not contradict.
void take_size(std::optional<std::int64_t>& field, const char* flag, std::int64_t value,
               const std::string& file) {
  if (field && *field != value)
    throw BadInput(
        fmt::format("--{} {}: the tensors of {} say {}; leave the flag out", flag, *field, file, value));
  field = value;
}

/// The problem flags, completed with the shapes in the file.
ProblemFlags with_file(ProblemFlags flags, const SafetensorsFile& file, const AttentionInputs& tensors) {
  const Problem shapes = problem_of(tensors);
  if (flags.tiles || flags.q_tiles || flags.kv_tiles)
    throw BadInput("--tiles: tensors are measured in tokens; leave the flag out");
  if (flags.seqlen && (*flags.seqlen != shapes.seqlen_q || *flags.seqlen != shapes.seqlen_k))
    throw BadInput(
        fmt::format("--seqlen {}: the tensors of {} have {} queries and {} keys; leave the flag out",
                    *flags.seqlen, file.path(), shapes.seqlen_q, shapes.seqlen_k));
  flags.seqlen.reset();
  take_size(flags.seqlen_q, "seqlen-q", shapes.seqlen_q, file.path());
  take_size(flags.seqlen_k, "seqlen-k", shapes.seqlen_k, file.path());
  take_size(flags.batch, "batch", shapes.batch, file.path());
  take_size(flags.heads, "heads", shapes.heads, file.path());
  take_size(flags.kv_heads, "kv-heads", shapes.kv_heads, file.path());
  take_size(flags.head_dim, "head-dim", shapes.head_dim, file.path());
  if (!flags.mask) flags.mask = file.metadata("mask");
  return flags;
}

/// Tile sizes that no flag gives: the recipe's own for fa3 and fa2-torch, 128 x 128 for dashlab.
void take_tiles(ProblemFlags& flags, const std::string& recipe, bool kernel_tiles) {
  if (recipe == "dashlab" && !kernel_tiles) return;
  const TileShape own = recipe_tiles(recipe, Pass::backward, make_problem(flags));
  if (!flags.tile_q) flags.tile_q = own.q;
  if (!flags.tile_kv) flags.tile_kv = own.kv;
}

/// The problem and the schedule. fa2-torch has a schedule of its own, so any name that fits the problem will
/// do.
PlannedSchedule make_plan(ProblemFlags problem, const ScheduleFlags& schedule, const InputFlags& input,
                          bool kernel_tiles) {
  if (schedule.is_file()) return schedule.make(problem, "");
  take_tiles(problem, input.recipe, kernel_tiles);
  const std::string fallback(recipe_schedule(input.recipe, make_problem(problem)));
  if (input.recipe == "fa2-torch" && schedule.schedule)
    throw BadInput("--schedule: recipe fa2-torch has a schedule of its own; leave the flag out");
  return schedule.make(problem, fallback.empty() ? "descending" : fallback);
}

}  // namespace

void InputFlags::add_to(CLI::App& command) {
  auto* from_seed = command.add_option("--seed", seed, "draw q, k, v, do from this seed [0]");
  command.add_option("--input", input, "take q k v do (and o lse) from a safetensors file")
      ->excludes(from_seed);
  command.add_option("--profile", profile,
                     "hopper-bf16, hopper-fp16 or ieee-fp32 [the file's type, else hopper-bf16]");
  command.add_option("--recipe", recipe, "dashlab, fa3 or fa2-torch")->capture_default_str();
  command.add_option("--forward", forward,
                     "recipe that makes o and lse [--recipe; not used if the file has them]");
  command.add_option("--scale", scale, "scale of the scores [1/sqrt(head dim)]");
  command.add_option("--arrival", arrival,
                     "random:SEED: add dQ in the order of a random run, as atomics would");
}

RunInputs make_run(const ProblemFlags& problem, const ScheduleFlags& schedule, const InputFlags& input,
                   RunFlags& run, const RunPreferences& preferences) {
  check_recipe(input.recipe);
  if (input.forward) check_recipe(*input.forward);
  std::unique_ptr<SafetensorsFile> file;
  AttentionInputs tensors;
  DType dtype = DType::bf16;
  ProblemFlags flags = problem;
  if (input.input) {
    file = std::make_unique<SafetensorsFile>(*input.input);
    tensors = {file->tensor("q"), file->tensor("k"), file->tensor("v"), file->tensor("do"), {}, {}};
    dtype = tensors.q.dtype;
    if (input.profile && profile_dtype(*input.profile) != dtype)
      throw BadInput(fmt::format("--profile {}: the tensors of {} are {}; leave the flag out", *input.profile,
                                 *input.input, to_string(dtype)));
    flags = with_file(std::move(flags), *file, tensors);
  } else if (input.profile) {
    dtype = profile_dtype(*input.profile);
  }
  RunInputs inputs{{},
                   make_plan(flags, schedule, input, preferences.kernel_tiles && dtype != DType::f32),
                   tensors,
                   dtype,
                   std::move(file),
                   {},
                   {}};
  const Problem& p = inputs.plan.problem;
  if (p.in_tiles) throw BadInput("a problem in tiles has no tensors; give --seqlen instead of --tiles");
  if (input.arrival)
    inputs.plan.schedule = arrival_order(p, inputs.plan.schedule, parse_arrival(*input.arrival));

  std::optional<std::string> scale = input.scale;
  if (!scale && inputs.file) scale = inputs.file->metadata("scale");
  inputs.run = {input.recipe, scale ? parse_scale(*scale, "--scale") : default_scale(p.head_dim),
                schedule.sms_for(p)};

  if (!inputs.file) {
    inputs.seeded = make_inputs(p, dtype, input.seed.value_or(0), run.control("inputs"));
    inputs.tensors = inputs.seeded.view();
  } else if (inputs.file->has("o") && inputs.file->has("lse") && !input.forward) {
    inputs.tensors.o = inputs.file->tensor("o");
    inputs.tensors.lse = inputs.file->tensor("lse");
    return inputs;
  }
  RecipeRun forward = inputs.run;
  forward.recipe = input.forward.value_or(input.recipe);
  Problem forward_problem = p;
  const TileShape tiles = recipe_tiles(forward.recipe, Pass::forward, p);
  if (!std::holds_alternative<BlocksMask>(p.mask)) {  // a block mask is tied to its tiles
    forward_problem.tile_q = tiles.q;
    forward_problem.tile_kv = tiles.kv;
  }
  inputs.forward = preferences.forward
                       ? preferences.forward(forward, forward_problem, inputs.tensors)
                       : run_recipe_forward(forward, forward_problem, inputs.tensors, run.control("forward"));
  run.done();
  inputs.tensors.o = inputs.forward->o.view();
  inputs.tensors.lse = inputs.forward->lse.view();
  return inputs;
}

Metadata RunInputs::metadata(const InputFlags& flags) const {
  Metadata out{{"recipe", run.recipe},
               {"mask", to_string(plan.problem.mask)},
               {"scale", fmt::format("{}", run.scale)},
               {"sms", fmt::to_string(run.sms)},
               {"profile", std::string(profile_name(dtype))},
               {"layout", "bshd (lse: bhs, natural log)"}};
  if (run.recipe != "fa2-torch") {
    out["tile_q"] = fmt::to_string(plan.problem.tile_q);
    out["tile_kv"] = fmt::to_string(plan.problem.tile_kv);
    out["schedule"] = plan.schedule.name;
  }
  if (!file) out["seed"] = fmt::to_string(flags.seed.value_or(0));
  if (flags.arrival) out["arrival"] = *flags.arrival;
  return out;
}

std::vector<std::pair<std::string, TensorView>> saved_tensors(const RunInputs& inputs,
                                                              const Gradients& gradients) {
  const AttentionInputs& t = inputs.tensors;
  return {{"q", t.q},
          {"k", t.k},
          {"v", t.v},
          {"do", t.dout},
          {"o", t.o},
          {"lse", t.lse},
          {"dq", gradients.dq.view()},
          {"dk", gradients.dk.view()},
          {"dv", gradients.dv.view()}};
}

}  // namespace dashlab::cli
