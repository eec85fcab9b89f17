// What an H200 computed, on every machine: digests recorded by `validate record` (tests/data/gpu), recomputed
// by the emulator. The kernels never run here; the GPU's bits are the golden.
#include <doctest/doctest.h>

#include <string_view>

#include "cases.hpp"

using namespace dashlab;
using namespace dashlab::test;

namespace {

int check_profile(std::string_view profile) {
  int checked = 0;
  for (const DigestCase& c : read_cases(std::string(DASHLAB_TEST_DATA) + "/gpu/h200.json")) {
    if (c.profile != profile) continue;
    INFO(describe(c));
    const Problem problem = make_problem(c.fields);
    const TileMap tiles(problem);
    const Schedule schedule = make_schedule(c.schedule, problem, tiles, {c.sms, c.group_mode()});
    const SeededInputs seeded = make_inputs(problem, profile_dtype(c.profile), c.seed, {});
    AttentionInputs inputs = seeded.view();
    const RecipeRun recipe{"dashlab", default_scale(problem.head_dim), c.sms};
    const ForwardResult forward = run_recipe_forward(recipe, forward_problem(problem), inputs, {});
    inputs.o = forward.o.view();
    inputs.lse = forward.lse.view();
    const Gradients gradients = run_recipe_backward(recipe, problem, tiles, schedule, inputs, {});
    CHECK(digests(gradients, forward) == c.sha256);
    ++checked;
  }
  return checked;
}

}  // namespace

TEST_CASE("The emulator gives the bf16 digests that an H200 recorded") {
  CHECK(check_profile("hopper-bf16") >= 40);
}
TEST_CASE("The emulator gives the fp16 digests that an H200 recorded") {
  CHECK(check_profile("hopper-fp16") >= 12);
}
TEST_CASE("The emulator gives the fp32 digests that an H200 recorded") {
  CHECK(check_profile("ieee-fp32") >= 10);
}
