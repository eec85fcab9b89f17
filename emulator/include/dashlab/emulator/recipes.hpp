// The recipes by name: what each decides itself, and one call that runs any of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dashlab/core/schedule.hpp"
#include "dashlab/core/tile_map.hpp"
#include "dashlab/emulator/attention.hpp"
#include "dashlab/emulator/fa3.hpp"
#include "dashlab/emulator/parallel.hpp"

namespace dashlab {

/// "fa3", "fa2-torch", "dashlab", in the order in which `auto` tries them.
std::span<const std::string_view> recipe_names();

/// Throws BadInput with the known names unless `name` is one.
void check_recipe(std::string_view name);

/// The tile sizes a recipe's own kernels use. dashlab: those of fa3.
TileShape recipe_tiles(std::string_view recipe, Pass pass, const Problem& problem);

/// The schedule a recipe's own kernel follows when the user names none: fa3 and dashlab `spt` for causal and
/// window masks, else `ascending`; fa2-torch has one of its own (empty here).
std::string_view recipe_schedule(std::string_view recipe, const Problem& problem);

/// Everything one emulated pass needs beside the tensors. Tile sizes are the problem's.
struct RecipeRun {
  std::string recipe = "fa3";
  float scale = 0;          ///< of the scores, > 0
  std::uint32_t sms = 132;  ///< fa2-torch: decides buffers and splits
};

/// The backward pass. `schedule` is not used by fa2-torch, which has its own. Throws BadInput where recipe,
/// tensors and problem do not fit each other.
Gradients run_recipe_backward(const RecipeRun& run, const Problem& problem, const TileMap& tiles,
                              const Schedule& schedule, const AttentionInputs& inputs,
                              const RunControl& control);

/// The forward pass: o and lse.
ForwardResult run_recipe_forward(const RecipeRun& run, const Problem& problem, const AttentionInputs& inputs,
                                 const RunControl& control);

}  // namespace dashlab
