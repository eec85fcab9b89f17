// Small seeded runs of recipe dashlab, for tests of what their bits may and may not depend on.
#pragma once

#include <string>

#include "dashlab/core/schedule.hpp"
#include "dashlab/core/tile_map.hpp"
#include "dashlab/emulator/inputs.hpp"
#include "dashlab/emulator/recipes.hpp"

namespace dashlab::test {

/// Inputs with o and lse of the recipe's own forward pass.
struct SmallRun {
  Problem problem;
  TileMap tiles;
  SeededInputs seeded;
  ForwardResult forward;
  RecipeRun run;

  explicit SmallRun(const Problem& p, DType dtype = DType::bf16, std::uint64_t seed = 1,
                    const std::string& recipe = "dashlab")
      : problem(p), tiles(p), seeded(make_inputs(p, dtype, seed, {})) {
    run.recipe = recipe;
    run.scale = default_scale(p.head_dim);
    Problem forward_problem = p;
    const TileShape shape = recipe_tiles(recipe, Pass::forward, p);
    if (!std::holds_alternative<BlocksMask>(p.mask)) {
      forward_problem.tile_q = shape.q;
      forward_problem.tile_kv = shape.kv;
    }
    forward = run_recipe_forward(run, forward_problem, seeded.view(), {});
  }

  [[nodiscard]] AttentionInputs inputs() const {
    AttentionInputs in = seeded.view();
    in.o = forward.o.view();
    in.lse = forward.lse.view();
    return in;
  }
  [[nodiscard]] Schedule schedule(const std::string& name, std::uint32_t sms = 4,
                                  GroupMode group = GroupMode::per_head) const {
    return make_schedule(name, problem, tiles, {sms, group});
  }
  [[nodiscard]] Gradients gradients(const Schedule& schedule, int threads = 1) const {
    RunControl control;
    control.threads = threads;
    return run_recipe_backward(run, problem, tiles, schedule, inputs(), control);
  }
};

/// One text for all three gradients, equal if and only if every byte is.
inline std::string digest(const Gradients& g) {
  return sha256(g.dq.view().bytes()) + sha256(g.dk.view().bytes()) + sha256(g.dv.view().bytes());
}

/// A problem with small tiles.
inline Problem small_problem(std::int64_t seqlen, std::int64_t head_dim, const std::string& mask,
                             std::int64_t tile_q = 32, std::int64_t tile_kv = 32) {
  Problem p;
  p.seqlen_q = p.seqlen_k = seqlen;
  p.head_dim = head_dim;
  p.tile_q = tile_q;
  p.tile_kv = tile_kv;
  p.mask = parse_mask(mask);
  return p;
}

}  // namespace dashlab::test
