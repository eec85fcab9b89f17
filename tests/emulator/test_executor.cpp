// What the bits of a backward pass depend on, and what they must never depend on.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dashlab/core/error.hpp"
#include "dashlab/emulator/arrival.hpp"
#include "dashlab/emulator/simd.hpp"
#include "small_runs.hpp"

using namespace dashlab;
using namespace dashlab::test;

namespace {

Problem grouped() {
  Problem p = small_problem(160, 32, "causal");
  p.batch = 2;
  p.heads = 4;
  p.kv_heads = 2;
  return p;
}

bool all_zero(const TensorView& tensor) {
  return std::all_of(tensor.bytes().begin(), tensor.bytes().end(),
                     [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

TEST_CASE("the bits do not depend on the number of threads") {
  const SmallRun run(grouped());
  for (const char* name : {"ascending", "descending", "spt", "symmetric-shift", "two-pass"}) {
    CAPTURE(name);
    const Schedule schedule = run.schedule(name);
    const std::string once = digest(run.gradients(schedule, 1));
    for (const int threads : {2, 3, 8}) CHECK(digest(run.gradients(schedule, threads)) == once);
  }
}

TEST_CASE("the bits do not depend on the number of SMs or on placement") {
  const SmallRun run(grouped());
  const std::string once = digest(run.gradients(run.schedule("spt", 1)));
  for (const std::uint32_t sms : {2u, 7u, 132u})
    CHECK(digest(run.gradients(run.schedule("spt", sms), 2)) == once);
  // The chains themselves in any launch order: orders of rows and chains stay, placement is gone.
  Schedule shuffled = run.schedule("spt", 1);
  Schedule reversed = shuffled;
  reversed.chains.clear();
  reversed.chain_begin = {0};
  reversed.steps.clear();
  for (std::size_t c = shuffled.chains.size(); c-- > 0;) {
    reversed.chains.push_back(shuffled.chains[c]);
    const auto steps = shuffled.chain_steps(c);
    reversed.steps.insert(reversed.steps.end(), steps.begin(), steps.end());
    reversed.chain_begin.push_back(reversed.steps.size());
  }
  reversed.sms = static_cast<std::uint32_t>(reversed.chains.size());
  CHECK(digest(run.gradients(reversed, 2)) == once);
}

TEST_CASE("the bits do not depend on the vector unit") {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    std::string once;
    for (const std::string& target : simd_targets()) {
      CAPTURE(target);
      force_simd_target(target);
      const SmallRun run(small_problem(100, 48, "window:40,10"), dtype);
      const std::string now = digest(run.gradients(run.schedule("ascending")));
      if (once.empty()) once = now;
      CHECK(now == once);
    }
    force_simd_target("");
  }
}

TEST_CASE("another reduce order changes dq alone") {
  const SmallRun run(small_problem(512, 32, "full"), DType::f32);  // bf16 would hide most differences
  const Gradients up = run.gradients(run.schedule("ascending"));
  Schedule schedule = run.schedule("ascending");
  for (std::size_t row = 0; row + 1 < schedule.row_begin.size(); ++row)
    std::reverse(schedule.reduce_kv.begin() + static_cast<std::ptrdiff_t>(schedule.row_begin[row]),
                 schedule.reduce_kv.begin() + static_cast<std::ptrdiff_t>(schedule.row_begin[row + 1]));
  const Gradients down = run.gradients(schedule);
  CHECK(sha256(up.dq.view().bytes()) != sha256(down.dq.view().bytes()));
  CHECK(sha256(up.dk.view().bytes()) == sha256(down.dk.view().bytes()));
  CHECK(sha256(up.dv.view().bytes()) == sha256(down.dv.view().bytes()));
}

TEST_CASE("a schedule that deadlocks is refused and not hung on") {
  const SmallRun run(small_problem(64, 16, "full"));
  Schedule schedule = run.schedule("ascending");
  // Two chains walk their rows in opposite directions, and each row waits for the chain that comes to it
  // last.
  std::reverse(schedule.steps.begin(), schedule.steps.begin() + 2);
  schedule.reduce_kv = {0, 1, 1, 0};
  CHECK_THROWS_AS((void)run.gradients(schedule, 2), BadInput);
}

TEST_CASE("queries without keys get a gradient of exactly zero and add nothing") {
  Problem p = small_problem(96, 16, "causal");
  p.seqlen_k = 40;  // the first 56 queries see nothing
  for (const DType dtype : {DType::bf16, DType::f32}) {
    const SmallRun run(p, dtype);
    for (int q = 0; q < 56; ++q) CHECK(run.forward.lse.view().f32()[q] == -INFINITY);
    const Gradients g = run.gradients(run.schedule("spt"));
    TensorView hidden = g.dq.view();
    hidden.shape[1] = 56;
    CHECK(all_zero(hidden));
    for (std::int64_t i = 0; i < g.dk.view().elements(); ++i) {
      CHECK(std::isfinite(g.dk.view().value(i)));
      CHECK(std::isfinite(g.dv.view().value(i)));
    }
  }
}

TEST_CASE("keys that no query sees get a gradient of exactly zero") {
  const SmallRun run(small_problem(96, 16, "documents:96"));
  Problem p = small_problem(64, 16, "window:0,0");
  p.seqlen_k = 128;  // query i sees key i + 64 alone
  const SmallRun narrow(p);
  const Gradients g = narrow.gradients(narrow.schedule("ascending"));
  TensorView hidden = g.dk.view();
  hidden.shape[1] = 64;
  CHECK(all_zero(hidden));
  CHECK_FALSE(all_zero(g.dv.view()));
}

TEST_CASE("random arrival is fixed by its seed and differs between seeds") {
  const SmallRun run(small_problem(512, 32, "full"));
  const Schedule atomic = run.schedule("atomic", 16);
  CHECK_THROWS_AS((void)run.gradients(atomic), BadInput);
  const auto arrived = [&](std::uint64_t seed) {
    return digest(run.gradients(arrival_order(run.problem, atomic, seed), 2));
  };
  CHECK(arrived(1) == arrived(1));
  CHECK(arrived(1) != arrived(2));
  CHECK_THROWS_AS(arrival_order(run.problem, run.schedule("two-pass"), 1), BadInput);
}

TEST_CASE("a gathered chain and added heads differ in bits where a kv head is shared, and nowhere else") {
  const SmallRun run(grouped());
  const Gradients apart = run.gradients(run.schedule("spt", 4, GroupMode::per_head));
  const Gradients gathered = run.gradients(run.schedule("spt", 4, GroupMode::gathered), 2);
  CHECK(sha256(apart.dq.view().bytes()) == sha256(gathered.dq.view().bytes()));
  CHECK(sha256(apart.dk.view().bytes()) != sha256(gathered.dk.view().bytes()));
}

TEST_CASE("tiles that tensor cores cannot sum are refused with one line") {
  const SmallRun run(small_problem(64, 16, "full"));
  Problem odd = run.problem;
  odd.tile_kv = 24;
  const TileMap tiles(odd);
  CHECK_THROWS_AS(
      run_recipe_backward(run.run, odd, tiles, make_schedule("ascending", odd, tiles, {}), run.inputs(), {}),
      BadInput);
}

TEST_CASE("a set stop flag ends a run with Interrupted") {
  const SmallRun run(small_problem(256, 16, "full"));
  const std::atomic<bool> stop{true};
  RunControl control;
  control.threads = 2;
  control.stop = &stop;
  CHECK_THROWS_AS(
      run_recipe_backward(run.run, run.problem, run.tiles, run.schedule("ascending"), run.inputs(), control),
      Interrupted);
}
