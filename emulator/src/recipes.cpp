#include "dashlab/emulator/recipes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "dashlab/core/error.hpp"
#include "dashlab/emulator/backward.hpp"
#include "dashlab/emulator/fa2.hpp"
#include "dashlab/emulator/ieee.hpp"

namespace dashlab {

namespace {

constexpr std::array<std::string_view, 3> names{"fa3", "fa2-torch", "dashlab"};

bool aims_at_the_diagonal(const Mask& mask) {
  return std::holds_alternative<CausalMask>(mask) || std::holds_alternative<WindowMask>(mask);
}

/// fa3 and fa2-torch are kernels for 16-bit tensors.
void refuse_f32(const RecipeRun& run, const AttentionInputs& inputs) {
  if (inputs.q.dtype == DType::f32)
    throw BadInput(
        fmt::format("recipe {} takes BF16 or F16 tensors, not F32; use recipe dashlab", run.recipe));
}

}  // namespace

std::span<const std::string_view> recipe_names() {
  return names;
}

void check_recipe(std::string_view name) {
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw BadInput(fmt::format("--recipe '{}': unknown; use {}", name.substr(0, 60), fmt::join(names, ", ")));
}

TileShape recipe_tiles(std::string_view recipe, Pass pass, const Problem& problem) {
  if (recipe == "fa2-torch") return fa2_backward_tiles(problem.head_dim);
  const bool causal = aims_at_the_diagonal(problem.mask);
  return pass == Pass::forward ? fa3_forward_tiles(problem.head_dim, causal)
                               : fa3_backward_tiles(problem.head_dim, causal);
}

std::string_view recipe_schedule(std::string_view recipe, const Problem& problem) {
  if (recipe == "fa2-torch") return "";
  return aims_at_the_diagonal(problem.mask) ? "spt" : "ascending";
}

Gradients run_recipe_backward(const RecipeRun& run, const Problem& problem, const TileMap& tiles,
                              const Schedule& schedule, const AttentionInputs& inputs,
                              const RunControl& control) {
  check_recipe(run.recipe);
  if (run.recipe == "dashlab" && inputs.q.dtype == DType::f32)
    return run_backward(problem, tiles, schedule, inputs, *ieee_backward_recipe(run.scale), control);
  refuse_f32(run, inputs);
  if (run.recipe != "fa2-torch") {
    const auto recipe = fa3_backward_recipe(inputs.q.dtype, problem.head_dim, run.scale);
    return run_backward(problem, tiles, schedule, inputs, *recipe, control);
  }
  check_fa2(problem);
  const TileShape shape = fa2_backward_tiles(problem.head_dim);
  Problem own = problem;
  own.tile_q = shape.q;
  own.tile_kv = shape.kv;
  const TileMap own_tiles(own);
  const auto recipe =
      fa2_backward_recipe(inputs.q.dtype, own.head_dim, run.scale, fa2_dq_buffers(own, run.sms));
  return run_backward(own, own_tiles, fa2_schedule(own, own_tiles, run.sms), inputs, *recipe, control);
}

ForwardResult run_recipe_forward(const RecipeRun& run, const Problem& problem, const AttentionInputs& inputs,
                                 const RunControl& control) {
  check_recipe(run.recipe);
  if (run.recipe == "dashlab" && inputs.q.dtype == DType::f32)
    return ieee_forward(problem, inputs, run.scale, control);
  refuse_f32(run, inputs);
  if (run.recipe == "fa2-torch") return fa2_forward(problem, inputs, run.scale, run.sms, control);
  return fa3_forward(problem, inputs, run.scale, control);
}

}  // namespace dashlab
