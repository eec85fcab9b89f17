// Solutions of the exercises of notebook 1: three numbers and an order.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "dashlab/emulator/arrival.hpp"
#include "dashlab/emulator/float_types.hpp"
#include "dashlab/emulator/inputs.hpp"
#include "dashlab/emulator/recipes.hpp"

using namespace dashlab;

TEST_CASE("Exercise 1.1: 2^26, -2^26 and 3 have three sums, one for each bracket") {
  const float a = 0x1p26f;
  const float b = -0x1p26f;
  const float c = 3;
  for (const float x : {a, b, c}) CHECK(float_from_bf16(bf16_from_float(x)) == x);
  const float b_plus_c = b + c;  // -67108861 lies between multiples of 4
  const float a_plus_c = a + c;  // 67108867 lies between multiples of 8
  CHECK((a + b) + c == 3);
  CHECK(a + b_plus_c == 4);
  CHECK(a_plus_c + b == 0);
}

namespace {

// How many different dQ a hundred arrivals give when `parts` kv tiles add to one q tile.
std::size_t different_dq(std::int64_t parts) {
  Problem problem;
  problem.seqlen_q = problem.tile_q = 16;
  problem.tile_kv = 16;
  problem.seqlen_k = 16 * parts;
  problem.head_dim = 32;
  const TileMap tiles(problem);
  const RunControl control;
  RecipeRun run;
  run.recipe = "dashlab";
  run.scale = default_scale(problem.head_dim);
  const SeededInputs seeded = make_inputs(problem, DType::f32, 3, control);
  AttentionInputs inputs = seeded.view();
  const ForwardResult forward = run_recipe_forward(run, problem, inputs, control);
  inputs.o = forward.o.view();
  inputs.lse = forward.lse.view();
  const auto sms = static_cast<std::uint32_t>(parts);
  const Schedule atomic = make_schedule("atomic", problem, tiles, {.sms = sms});
  std::set<std::string> digests;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Schedule schedule = arrival_order(problem, atomic, seed);
    digests.insert(
        sha256(run_recipe_backward(run, problem, tiles, schedule, inputs, control).dq.view().bytes()));
  }
  return digests.size();
}

}  // namespace

TEST_CASE("Exercise 1.2: two kv tiles give one dQ, three give three: only the last to add decides") {
  CHECK(different_dq(2) == 1);
  CHECK(different_dq(3) == 3);
}

TEST_CASE("Exercise 1.3: integer sums of cut parts do not know an order, lose what is small, and overflow") {
  const auto cut = [](double x) { return static_cast<std::int64_t>(std::trunc(std::ldexp(x, 20))); };
  std::array<double, 6> parts{-5.77, -1.3, 0.1, 0.333, 0.7, 2.9};
  std::set<std::int64_t> sums;
  do {
    std::int64_t sum = 0;
    for (const double part : parts) sum += cut(part);
    sums.insert(sum);
  } while (std::next_permutation(parts.begin(), parts.end()));
  CHECK(sums.size() == 1);

  CHECK(cut(0x1p-21) == 0);  // lost
  const std::int64_t large = cut(0x1p42);
  std::int64_t sum = 0;
  CHECK(__builtin_add_overflow(large, large, &sum));  // 2^43 does not fit
}
