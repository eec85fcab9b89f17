// A forward pass whose q tiles each walk their kv tiles from the last one needed down to the first: recipes
// fa3 and dashlab, and fa2-torch without splits.
#pragma once

#include <vector>

#include "dashlab/core/tile_map.hpp"
#include "dashlab/emulator/parallel.hpp"
#include "forward_engine.hpp"

namespace dashlab {

/// Beside what forward_engine.hpp asks for, the recipe has finish(m, sum) -> {inverse, lse} and round(float)
/// -> Element.
template <typename Recipe>
ForwardResult tiled_forward(const Recipe& recipe, const Problem& problem, const AttentionInputs& inputs,
                            const RunControl& control) {
  using Element = typename Recipe::Element;
  check(problem, inputs, Pass::forward);
  const TileMap tiles(problem);
  const std::uint32_t q_tiles = tiles.q_tiles();
  const auto heads = static_cast<std::uint32_t>(problem.total_heads());
  PackedKvTiles<Element> kv_tiles(problem, inputs, problem.tile_kv);
  for (std::uint32_t head = 0; head < heads; ++head)
    for (std::uint32_t q = 0; q < q_tiles; ++q)
      for (const std::uint32_t kv : tiles.row(QTile{q})) kv_tiles.count_use(head, kv);

  ForwardResult result{Tensor(inputs.q.dtype, inputs.q.shape),
                       Tensor(DType::f32, {problem.batch, problem.heads, problem.seqlen_q})};
  parallel_for(std::uint64_t{heads} * q_tiles, control, [&](std::uint64_t unit) {
    const auto head = static_cast<std::uint32_t>(unit / q_tiles);
    const auto q = static_cast<std::uint32_t>(unit % q_tiles);
    const std::int64_t q_begin = std::int64_t{q} * problem.tile_q;
    const auto rows = static_cast<int>(std::min(problem.tile_q, problem.seqlen_q - q_begin));
    const auto row = tiles.row(QTile{q});
    const std::vector<std::int64_t> down(row.rbegin(), row.rend());
    ForwardWalk<Recipe> walk(recipe, problem, inputs, kv_tiles, problem.tile_kv);
    const ForwardRows state = walk.run(head, q_begin, rows, down);
    const HeadRows place = head_rows(problem.seqlen_q, problem.heads, problem.head_dim, head);
    const auto dim = static_cast<std::size_t>(problem.head_dim);
    for (int r = 0; r < rows; ++r) {
      const auto at = static_cast<std::size_t>(r);
      const auto [inverse, lse] = recipe.finish(state.maximum[at], state.sum(recipe, at));
      Element* o = Operands<Element>::data(result.o) + place.first + (q_begin + r) * place.stride;
      for (std::size_t i = 0; i < dim; ++i) o[i] = recipe.round(recipe.mul(state.o[at * dim + i], inverse));
      result.lse.f32()[std::int64_t{head} * problem.seqlen_q + q_begin + r] = lse;
    }
  });
  return result;
}

}  // namespace dashlab
