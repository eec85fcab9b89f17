// FlashAttention-3 (main of 2026-08) on Hopper: backward and forward arithmetic (docs/numerics.md, sections 4
// and 5).
#pragma once

#include <memory>

#include "dashlab/emulator/attention.hpp"
#include "dashlab/emulator/parallel.hpp"
#include "dashlab/emulator/recipe.hpp"

namespace dashlab {

/// The backward recipe for bf16 or fp16 tensors of this head dimension.
std::unique_ptr<BackwardRecipe<std::uint16_t>> fa3_backward_recipe(DType dtype, std::int64_t head_dim,
                                                                   float scale);

/// q rows by kv columns of a tile.
struct TileShape {
  std::int64_t q = 0;
  std::int64_t kv = 0;
  friend bool operator==(const TileShape&, const TileShape&) = default;
};

/// FA3's own tiles. Backward: 128x128 up to d = 64; beyond, 64x128 causal and 80x128 full. Forward: d up to
/// 64, 192x128 causal and 192x192 full; beyond, 128x128 and 128x176.
TileShape fa3_backward_tiles(std::int64_t head_dim, bool causal);
TileShape fa3_forward_tiles(std::int64_t head_dim, bool causal);

/// The forward pass: o and lse of q, k, v. Tile sizes are the problem's.
ForwardResult fa3_forward(const Problem& problem, const AttentionInputs& inputs, float scale,
                          const RunControl& control);

}  // namespace dashlab
