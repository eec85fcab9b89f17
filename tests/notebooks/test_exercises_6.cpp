// Solutions of the exercises of notebook 6: the same bits twice.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "dashlab/core/error.hpp"
#include "dashlab/core/schedule.hpp"
#include "dashlab/emulator/audit.hpp"
#include "dashlab/emulator/safetensors.hpp"

using namespace dashlab;

namespace {

struct Case {
  SafetensorsFile file;
  Recording recording;
  AuditSetup setup;
  RunControl control;

  Case(const std::string& name, std::int64_t tile_q, std::int64_t tile_kv, const Mask& mask)
      : file(std::string(DASHLAB_TEST_DATA) + "/fa3/" + name + ".safetensors"),
        recording(read_recording(file)) {
    setup.run.scale = std::stof(file.metadata("scale").value());
    setup.problem = problem_of(recording.inputs);
    setup.problem.tile_q = tile_q;
    setup.problem.tile_kv = tile_kv;
    setup.problem.mask = mask;
  }
  void schedule(std::string_view name, std::uint32_t sms) {
    setup.schedule = make_schedule(name, setup.problem, TileMap(setup.problem), {.sms = sms});
  }
  [[nodiscard]] AuditResult result() const { return audit(recording, setup, control); }
};

}  // namespace

TEST_CASE("Exercise 6.1: one row of tiles in another order differs in that row of tiles alone") {
  Case c("spt_causal_d64_s512", 128, 128, CausalMask{});
  c.schedule("spt", 132);
  REQUIRE(c.result().equal());
  auto& orders = c.setup.schedule;
  const auto begin = orders.reduce_kv.begin();
  std::reverse(begin + static_cast<std::ptrdiff_t>(orders.row_begin[2]),
               begin + static_cast<std::ptrdiff_t>(orders.row_begin[3]));

  const AuditResult result = c.result();
  const Finding& dq = result.findings[0];
  CHECK(dq.name == "dq");
  CHECK(dq.comparison.differ > 0);
  CHECK(dq.comparison.differ <= 128 * 64);  // rows 256 to 383
  REQUIRE(dq.first);
  CHECK(dq.first->index[1] >= 256);
  CHECK(dq.first->index[1] < 384);
  CHECK(result.findings[1].comparison.differ == 0);
  CHECK(result.findings[2].comparison.differ == 0);
}

TEST_CASE(
    "Exercise 6.2: ascending fits its recorded gradient, and so does spt: 51,200 bf16 cannot tell them "
    "apart") {
  Case c("ascending_full_d128_s400", 80, 128, FullMask{});
  std::set<std::string> fit;
  for (const std::string_view name : schedule_names()) {
    if (name == "atomic") continue;  // has no order to be judged by
    try {
      c.schedule(name, 132);
      if (c.result().equal()) fit.emplace(name);
    } catch (const BadInput&) {
    }
  }
  CHECK(fit == std::set<std::string>{"ascending", "spt"});  // same q order; the sums agree after rounding
}

TEST_CASE("Exercise 6.3: on one SM the bits are the same as on 132") {
  Case c("spt_causal_d128_s384", 64, 128, CausalMask{});
  c.schedule("spt", 132);
  CHECK(c.result().equal());
  c.schedule("spt", 1);
  CHECK(c.result().equal());
}
