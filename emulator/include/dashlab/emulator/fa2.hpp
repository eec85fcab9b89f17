// FlashAttention-2 as PyTorch 2.11 ships it (sm_80 kernels on a Hopper): arithmetic, tiles, orders and splits
// that scaled_dot_product_attention uses with deterministic algorithms on (docs/numerics.md, section 6).
#pragma once

#include <memory>

#include "dashlab/core/schedule.hpp"
#include "dashlab/core/tile_map.hpp"
#include "dashlab/emulator/attention.hpp"
#include "dashlab/emulator/fa3.hpp"
#include "dashlab/emulator/parallel.hpp"
#include "dashlab/emulator/recipe.hpp"

namespace dashlab {

/// Backward tiles: d up to 64 128x128, up to 128 64x128, else 64x64.
TileShape fa2_backward_tiles(std::int64_t head_dim);

/// f32 buffers that dQ is summed in: ceil(SMs / (batch * heads)).
std::uint32_t fa2_dq_buffers(const Problem& problem, std::uint32_t sms);

std::unique_ptr<BackwardRecipe<std::uint16_t>> fa2_backward_recipe(DType dtype, std::int64_t head_dim,
                                                                   float scale, std::uint32_t dq_buffers);

/// q tiles descending in every chain; each row adds buffer after buffer, kv tiles g, g + G, g + 2G, ... of
/// buffer g.
Schedule fa2_schedule(const Problem& problem, const TileMap& tiles, std::uint32_t sms);

/// Parts that the keys are cut into in the forward pass, by FA2's own heuristic; 1: not split.
std::int64_t fa2_forward_splits(const Problem& problem, std::uint32_t sms);

/// The forward pass, split or not as FA2 decides. The problem's tile sizes are not used: they are FA2's own.
/// Full and causal masks only; throws BadInput otherwise.
ForwardResult fa2_forward(const Problem& problem, const AttentionInputs& inputs, float scale,
                          std::uint32_t sms, const RunControl& control);

/// Throws BadInput for problems that were never measured: masks other than full and causal, grouped heads,
/// head dims over 256.
void check_fa2(const Problem& problem);

}  // namespace dashlab
