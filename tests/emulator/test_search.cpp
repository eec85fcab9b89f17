// Finding out what made a recording, and what is odd about one that nothing known made.
#include <doctest/doctest.h>

#include <algorithm>

#include "dashlab/emulator/audit_search.hpp"
#include "small_runs.hpp"

using namespace dashlab;
using namespace dashlab::test;

namespace {

std::string data(const std::string& name) {
  return std::string(DASHLAB_TEST_DATA) + "/" + name + ".safetensors";
}

Recording recording_of(const SmallRun& run, const Gradients& g) {
  return {run.inputs(), g.dq.view(), g.dk.view(), g.dv.view(), Pass::backward};
}

SearchSpace with_mask(const char* mask) {
  SearchSpace space;
  space.mask = parse_mask(mask);
  return space;
}

}  // namespace

TEST_CASE("the search names recipe, schedule and tiles of recorded gradients without metadata") {
  struct Known {
    const char* file;
    const char* recipe;
    const char* schedule;
    const char* mask;
  };
  for (const Known& known : {Known{"fa3/spt_causal_d64_s512", "fa3", "spt", "causal"},
                             Known{"fa3/ascending_full_d128_s400", "fa3", "ascending", "full"},
                             Known{"fa2/full_d64_s333_b2h2", "fa2-torch", "fa2-torch", "full"}}) {
    CAPTURE(known.file);
    const SafetensorsFile file(data(known.file));
    const SearchResult result = search(read_recording(file), {}, {});
    CHECK(result.verdict.equal());
    CHECK(result.oddity == Oddity::none);
    CHECK(result.best.run.recipe == std::string(known.recipe));
    CHECK(result.best.schedule.name == std::string(known.schedule));
    CHECK(to_string(result.best.problem.mask) == std::string(known.mask));
  }
}

TEST_CASE("the search tells forward passes apart") {
  const SafetensorsFile fa3(data("fa3/forward_full_d64_s200"));
  const SearchResult result = search(read_recording(fa3), {}, {});
  CHECK(result.verdict.equal());
  CHECK(result.best.run.recipe == "fa3");
}

TEST_CASE("an unknown reduce order is found by its permutation") {
  const SmallRun run(small_problem(640, 64, "full", 128, 128), DType::bf16, 3, "fa3");
  Schedule schedule = run.schedule("ascending");
  const std::vector<std::uint32_t> order{2, 0, 4, 1, 3};
  for (std::size_t row = 0; row + 1 < schedule.row_begin.size(); ++row)
    std::copy(order.begin(), order.end(),
              schedule.reduce_kv.begin() + static_cast<std::ptrdiff_t>(schedule.row_begin[row]));
  // Such rows deadlock with ascending chains of few SMs only; here every chain has an SM of its own.
  const Gradients g = run.gradients(schedule);
  const SearchResult result = search(recording_of(run, g), with_mask("full"), {});
  CHECK_FALSE(result.verdict.equal());
  CHECK(result.oddity == Oddity::reduce_order);
  CHECK(result.kv_order.size() == 5);
}

TEST_CASE("a few damaged elements are called corruption") {
  const SmallRun run(small_problem(256, 64, "causal", 128, 128), DType::bf16, 4, "fa3");
  Gradients g = run.gradients(run.schedule("spt"));
  g.dv.u16()[1234] ^= 0x4000u;
  g.dq.u16()[77] ^= 0x1000u;
  const SearchResult result = search(recording_of(run, g), with_mask("causal"), {});
  CHECK_FALSE(result.verdict.equal());
  CHECK(result.oddity == Oddity::corruption);
  CHECK(result.best.schedule.name == "spt");
}

TEST_CASE("a scale that metadata get wrong is read back from lse") {
  SmallRun run(small_problem(256, 64, "full", 128, 128), DType::bf16, 5, "fa3");
  run.run.scale = 0.0625F;
  Problem forward = run.problem;
  forward.tile_q = forward.tile_kv = 192;
  run.forward = run_recipe_forward(run.run, forward, run.seeded.view(), {});
  const Gradients g = run.gradients(run.schedule("ascending"));
  const auto read = scale_from_lse(run.problem, run.inputs());
  REQUIRE(read);
  CHECK(*read == doctest::Approx(0.0625).epsilon(1e-4));
  SearchSpace wrong = with_mask("full");
  wrong.scale = 0.125F;
  const SearchResult result = search(recording_of(run, g), wrong, {});
  CHECK(result.oddity == Oddity::scale);
  const SearchResult free_scale = search(recording_of(run, g), with_mask("full"), {});
  CHECK(free_scale.verdict.equal());
  CHECK(free_scale.best.run.scale == 0.0625F);
}
