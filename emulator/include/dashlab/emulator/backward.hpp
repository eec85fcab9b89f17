// The backward pass of a schedule under a recipe, every bit. Streams tiles: memory is a few tensors of the
// problem's size per head in flight, never seqlen x seqlen.
#pragma once

#include "dashlab/core/schedule.hpp"
#include "dashlab/core/tile_map.hpp"
#include "dashlab/emulator/attention.hpp"
#include "dashlab/emulator/parallel.hpp"
#include "dashlab/emulator/recipe.hpp"

namespace dashlab {

/// Runs `schedule` (ordered or second_pass; give `arrival` an order first, see arrival.hpp). The bits depend
/// on inputs, tile sizes, q orders, reduce orders and group orders alone. Throws BadInput for tensors or
/// schedules that do not fit.
Gradients run_backward(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                       const AttentionInputs& inputs, const BackwardRecipe<std::uint16_t>& recipe,
                       const RunControl& control);
Gradients run_backward(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                       const AttentionInputs& inputs, const BackwardRecipe<float>& recipe,
                       const RunControl& control);

}  // namespace dashlab
