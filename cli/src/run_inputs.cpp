#include "run_inputs.hpp"

#include <fmt/format.h>

#include "dashlab/core/error.hpp"
#include "dashlab/emulator/arrival.hpp"

namespace dashlab::cli {

namespace {

/// The problem flags, completed with the shapes in the file.
ProblemFlags with_file(ProblemFlags flags, const SafetensorsFile& file, const AttentionInputs& tensors) {
  ProblemFields shapes = sizes_of(problem_of(tensors));
  shapes.tile_q.reset(), shapes.tile_kv.reset();
  flags.require_sizes(shapes, file.path());
  flags.seqlen.reset();
  for (const auto& [name, member] : problem_number_fields)
    if (shapes.*member) flags.*member = shapes.*member;
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

/// The problem and the schedule. fa2-torch makes its schedule itself, so any that fits the problem will do.
PlannedSchedule make_plan(ProblemFlags problem, const ScheduleFlags& schedule, const InputFlags& input,
                          bool kernel_tiles) {
  if (schedule.is_file()) return schedule.make(problem, "");
  take_tiles(problem, input.recipe, kernel_tiles);
  const std::string fallback(recipe_schedule(input.recipe, make_problem(problem)));
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
                     "recipe that makes o and lse [the file's o and lse, else --recipe]");
  command.add_option("--scale", scale, "scale of the scores [1/sqrt(head dim)]");
  command.add_option("--arrival", arrival,
                     "random:SEED: add dQ in the order of a random run, as atomics would");
}

void ComputeFlags::add_to(CLI::App& command, const std::string& format) {
  problem.add_to(command);
  schedule.add_to(command);
  input.add_to(command);
  run.add_to(command);
  command.add_flag("--json", json, "print " + format);
}

RunInputs make_run(ComputeFlags& all, const RunPreferences& preferences) {
  auto& [problem, schedule, input, run, json] = all;
  check_recipe(input.recipe);
  refuse_choices(input.recipe, schedule, problem.tile_q, problem.tile_kv);
  schedule.check_name();
  if (input.arrival && input.recipe == "fa2-torch")
    throw BadInput("--arrival: recipe fa2-torch adds in a fixed order; leave the flag out");
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

  const auto noted = inputs.file ? inputs.file->metadata("scale") : std::nullopt;
  inputs.run = {input.recipe,
                input.scale ? parse_scale(*input.scale, "--scale")
                : noted     ? parse_scale(*noted, inputs.file->path() + ": metadata 'scale'")
                            : default_scale(p.head_dim),
                inputs.plan.schedule.sms};

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

Metadata RunInputs::metadata(const ComputeFlags& flags) const {
  Metadata out{{"recipe", run.recipe},
               {"mask", to_string(plan.problem.mask)},
               {"scale", fmt::format("{}", run.scale)},
               {"sms", fmt::to_string(run.sms)},
               {"profile", std::string(profile_name(dtype))},
               {"layout", "bshd (lse: bhs, natural log)"}};
  if (run.recipe != "fa2-torch") {
    out["tile_q"] = fmt::to_string(plan.problem.tile_q);
    out["tile_kv"] = fmt::to_string(plan.problem.tile_kv);
    out["schedule"] = plan.from_file ? *flags.schedule.schedule : plan.schedule.name;
    if (plan.schedule.group_mode == GroupMode::gathered && plan.problem.group_size() > 1)
      out["group"] = "gathered";
  }
  if (!file) out["seed"] = fmt::to_string(flags.input.seed.value_or(0));
  if (flags.input.arrival) out["arrival"] = *flags.input.arrival;
  return out;
}

std::vector<std::pair<std::string, TensorView>> computed_tensors(const RunInputs& inputs,
                                                                 const Gradients& gradients) {
  std::vector<std::pair<std::string, TensorView>> out{
      {"dq", gradients.dq.view()}, {"dk", gradients.dk.view()}, {"dv", gradients.dv.view()}};
  if (inputs.forward) {
    out.emplace_back("o", inputs.forward->o.view());
    out.emplace_back("lse", inputs.forward->lse.view());
  }
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
