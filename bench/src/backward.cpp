// Whole backward passes: products, elementwise work, packing and scheduling together.
#include "dashlab/bench/backward.hpp"

#include "dashlab/core/schedule.hpp"
#include "dashlab/core/tile_map.hpp"
#include "dashlab/emulator/inputs.hpp"
#include "dashlab/emulator/recipes.hpp"

namespace dashlab::bench {

namespace {

constexpr std::int64_t seqlen = 4096;
constexpr std::int64_t head_dim = 128;

/// A causal head with everything the pass reads; o and lse by the recipe's own forward.
struct Pass {
  Problem problem;
  TileMap tiles;
  SeededInputs seeded;
  ForwardResult forward;
  RecipeRun run;
  Schedule schedule;

  explicit Pass(DType dtype)
      : problem(make_problem(dtype)),
        tiles(problem),
        seeded(make_inputs(problem, dtype, 1, {})),
        run{dtype == DType::f32 ? "dashlab" : "fa3", default_scale(head_dim), 132},
        schedule(make_schedule("spt", problem, tiles, {132, GroupMode::per_head})) {
    Problem forward_problem = problem;
    const TileShape shape = recipe_tiles(run.recipe, ::dashlab::Pass::forward, problem);
    forward_problem.tile_q = shape.q;
    forward_problem.tile_kv = shape.kv;
    forward = run_recipe_forward(run, forward_problem, seeded.view(), {});
  }

  static Problem make_problem(DType) {
    Problem p;
    p.seqlen_q = p.seqlen_k = seqlen;
    p.head_dim = head_dim;
    p.tile_q = 64;  // FA3's own for a causal mask at d 128
    p.tile_kv = 128;
    p.mask = CausalMask{};
    return p;
  }
  [[nodiscard]] double giga_multiply_adds() const {
    constexpr double products = 5;
    return products * static_cast<double>(tiles.tasks_per_head()) *
           static_cast<double>(problem.tile_q * problem.tile_kv * head_dim) * 1e-9;
  }
  void compute(int threads) const {
    AttentionInputs inputs = seeded.view();
    inputs.o = forward.o.view();
    inputs.lse = forward.lse.view();
    RunControl control;
    control.threads = threads;
    (void)run_recipe_backward(run, problem, tiles, schedule, inputs, control);
  }
};

}  // namespace

std::vector<Row> backward_rows() {
  constexpr int rounds = 3;
  constexpr double slice_seconds = 0.2;
  const Pass pass(DType::bf16);
  const double work = pass.giga_multiply_adds();
  Contender one{"backward fa3 causal 4096 d128 (one thread)", "G multiply-adds/s", work,
                [&] { pass.compute(1); }};
  one.clock = Clock::thread;
  const Contender all{"backward fa3 causal 4096 d128 (all cores)", "G multiply-adds/s", work,
                      [&] { pass.compute(0); }};
  const Comparison comparison({one, all}, rounds, slice_seconds);
  return {comparison.row(one.name), comparison.row(all.name, one.name)};
}

}  // namespace dashlab::bench
