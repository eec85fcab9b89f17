// Recorded gradients and outputs of real kernels: every one is reproduced in every bit.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "dashlab/core/error.hpp"
#include "dashlab/emulator/audit.hpp"

using namespace dashlab;

namespace {

std::string data(const std::string& name) {
  return std::string(DASHLAB_TEST_DATA) + "/" + name;
}

/// The setup that a recording's metadata describe.
AuditSetup described(const SafetensorsFile& file, const Recording& recording) {
  AuditSetup setup;
  setup.run.recipe = file.metadata("recipe").value_or("fa3");
  setup.run.scale = std::stof(*file.metadata("scale"));
  setup.problem = problem_of(recording.inputs);
  setup.problem.mask = parse_mask(*file.metadata("mask"));
  const TileShape own = recipe_tiles(setup.run.recipe, recording.pass, setup.problem);
  setup.problem.tile_q = file.metadata("tile_q") ? std::stoi(*file.metadata("tile_q")) : own.q;
  setup.problem.tile_kv = file.metadata("tile_kv") ? std::stoi(*file.metadata("tile_kv")) : own.kv;
  if (const auto name = file.metadata("schedule"))
    setup.schedule = make_schedule(*name, setup.problem, TileMap(setup.problem), {132, GroupMode::per_head});
  return setup;
}

void check_file(const std::string& name, const std::vector<std::string>& tensors, bool forward_too = false) {
  CAPTURE(name);
  const SafetensorsFile file(data(name));
  const Recording recording = read_recording(file);
  AuditSetup setup = described(file, recording);
  setup.judge_forward = forward_too;
  const AuditResult result = audit(recording, setup, {});
  REQUIRE(result.findings.size() == tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CAPTURE(tensors[i]);
    CHECK(result.findings[i].name == tensors[i]);
    CHECK(result.findings[i].comparison.elements > 0);
    CHECK(result.findings[i].comparison.differ == 0);
  }
}

}  // namespace

TEST_CASE("FlashAttention-3's recorded gradients are reproduced in every bit") {
  for (const char* name : {"spt_causal_d64_s512", "spt_causal_d128_s384", "ascending_full_d128_s400"})
    check_file(std::string("fa3/") + name + ".safetensors", {"dq", "dk", "dv"});
}

TEST_CASE("DASH's recorded shift gradients are reproduced in every bit") {
  check_file("fa3/shift_full_d128_s1024.safetensors", {"dq", "dk", "dv"});
}

TEST_CASE("FlashAttention-3's recorded outputs are reproduced in every bit") {
  for (const char* name : {"forward_causal_d128_s300_wide", "forward_causal_d64_s512",
                           "forward_full_d128_s512", "forward_full_d64_s200"})
    check_file(std::string("fa3/") + name + ".safetensors", {"o", "lse"});
}

TEST_CASE("PyTorch's recorded gradients and outputs are reproduced in every bit") {
  for (const char* name : {"causal_d256_s257", "causal_d64_s512", "full_d128_s400", "full_d64_s333_b2h2"})
    check_file(std::string("fa2/") + name + ".safetensors", {"dq", "dk", "dv", "o", "lse"}, true);
}

TEST_CASE("one flipped bit is found and named: tensor, index, tile and both values") {
  const SafetensorsFile file(data("fa3/spt_causal_d128_s384.safetensors"));
  Recording recording = read_recording(file);
  const AuditSetup setup = described(file, recording);
  Tensor dk = Tensor::copy_of(recording.dk);
  const std::int64_t row = 200, head = 1, column = 77;
  const auto at = static_cast<std::size_t>((row * 2 + head) * 128 + column);
  const std::uint16_t before = dk.u16()[at];
  dk.u16()[at] ^= 1u;
  recording.dk = dk.view();
  const AuditResult result = audit(recording, setup, {});
  CHECK_FALSE(result.equal());
  CHECK(result.findings[0].comparison.differ == 0);
  const Finding& finding = result.findings[1];
  REQUIRE(finding.first);
  CHECK(finding.name == "dk");
  CHECK(finding.comparison.differ == 1);
  CHECK(finding.comparison.largest_ulp == 1);
  CHECK(finding.first->index == std::vector<std::int64_t>{0, row, head, column});
  CHECK(finding.first->tile == "kv tile 1 of head 1");
  CHECK(finding.first->computed_bits == before);
  CHECK(finding.first->recorded_bits == (before ^ 1u));
}

TEST_CASE("the wrong schedule differs in dq and nowhere else") {
  const SafetensorsFile file(data("fa3/spt_causal_d64_s512.safetensors"));
  const Recording recording = read_recording(file);
  AuditSetup setup = described(file, recording);
  setup.schedule =
      make_schedule("ascending", setup.problem, TileMap(setup.problem), {132, GroupMode::per_head});
  const AuditResult result = audit(recording, setup, {});
  CHECK(result.findings[0].comparison.differ == 2);
  CHECK(result.findings[1].comparison.differ == 0);
  CHECK(result.findings[2].comparison.differ == 0);
}

TEST_CASE("recipes refuse problems they were not measured on") {
  const SafetensorsFile file(data("fa2/causal_d64_s512.safetensors"));
  const Recording recording = read_recording(file);
  AuditSetup setup = described(file, recording);
  setup.problem.mask = parse_mask("window:10,0");
  CHECK_THROWS_AS(audit(recording, setup, {}), BadInput);
  setup.run.recipe = "fa4";
  CHECK_THROWS_AS(audit(recording, setup, {}), BadInput);
}
