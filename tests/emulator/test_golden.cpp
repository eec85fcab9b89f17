// Digests of 30 seeded problems, made by tests/oracle/oracle.py, which shares no code with the emulator.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "dashlab/core/whole_file.hpp"
#include "dashlab/emulator/simd.hpp"
#include "small_runs.hpp"

using namespace dashlab;
using namespace dashlab::test;

namespace {

void check_case(const nlohmann::json& c) {
  Problem p;
  p.batch = c["batch"];
  p.heads = c["heads"];
  p.kv_heads = c["kv_heads"];
  p.seqlen_q = c["seqlen_q"];
  p.seqlen_k = c["seqlen_k"];
  p.head_dim = c["head_dim"];
  p.tile_q = c["tile_q"];
  p.tile_kv = c["tile_kv"];
  p.mask = parse_mask(c["mask"].get<std::string>());
  const SmallRun run(p, profile_dtype(c["profile"].get<std::string>()), c["seed"]);
  const GroupMode group = c["group"] == "gathered" ? GroupMode::gathered : GroupMode::per_head;
  const Gradients g = run.gradients(run.schedule(c["schedule"], 4, group), 2);
  CHECK(sha256(run.forward.o.view().bytes()) == c["sha256"]["o"]);
  CHECK(sha256(run.forward.lse.view().bytes()) == c["sha256"]["lse"]);
  CHECK(sha256(g.dq.view().bytes()) == c["sha256"]["dq"]);
  CHECK(sha256(g.dk.view().bytes()) == c["sha256"]["dk"]);
  CHECK(sha256(g.dv.view().bytes()) == c["sha256"]["dv"]);
}

}  // namespace

TEST_CASE("emulated gradients have the digests of an independent derivation, on every vector unit") {
  const auto golden =
      nlohmann::json::parse(read_file(std::string(DASHLAB_TEST_DATA) + "/golden/emulate.json"));
  REQUIRE(golden["cases"].size() == 30);
  for (const std::string& target : simd_targets()) {
    CAPTURE(target);
    force_simd_target(target);
    for (const auto& c : golden["cases"]) {
      CAPTURE(c.dump());
      check_case(c);
    }
  }
  force_simd_target("");
}
