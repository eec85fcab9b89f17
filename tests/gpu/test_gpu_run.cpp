// On a Hopper GPU: the recorded FlashAttention-3 gradients, bit for bit, and agreement with the emulator. On
// any other machine: one clear error.
#include <doctest/doctest.h>

#include <string>

#include "dashlab/core/error.hpp"
#include "dashlab/emulator/compare.hpp"
#include "dashlab/emulator/inputs.hpp"
#include "dashlab/emulator/recipes.hpp"
#include "dashlab/emulator/safetensors.hpp"
#include "dashlab/gpu/device.hpp"
#include "dashlab/gpu/session.hpp"

using namespace dashlab;

namespace {

bool has_hopper() {
  const auto device = gpu::device_info();
  return device && device->major == 9 && device->minor == 0;
}

struct Case {
  Problem problem;
  Schedule schedule;
};

Case small(DType dtype) {
  Problem p;
  p.head_dim = 64;
  p.seqlen_q = p.seqlen_k = 150;
  if (dtype == DType::f32) p.tile_q = p.tile_kv = 32;
  p.mask = CausalMask{};
  return {p, make_schedule("spt", p, TileMap(p), {8, GroupMode::per_head})};
}

/// Zeros are enough to reach the device check.
Gradients run_on_gpu(const Case& c, const AttentionInputs& inputs, float scale) {
  gpu::BackwardOptions options;
  options.profile = gpu::profile_of(inputs.q.dtype);
  options.scale = scale;
  gpu::BackwardSession session(c.problem, TileMap(c.problem), c.schedule, inputs, options);
  session.run(true);
  return session.results();
}

}  // namespace

TEST_CASE("Without a GPU a run ends with one line that says what to do") {
  if (gpu::device_info()) {
    CHECK_NOTHROW(gpu::require_device());
    return;
  }
  std::string message;
  try {
    gpu::require_device();
  } catch (const EnvironmentError& error) {
    message = error.what();
  }
  CHECK(message.find("dashlab emulate") != std::string::npos);
  CHECK(message.find('\n') == std::string::npos);
}

TEST_CASE("Sizes without a kernel are refused with the sizes that have one") {
  Case c = small(DType::bf16);
  c.problem.head_dim = 96;
  gpu::BackwardOptions options;
  std::string message;
  try {
    const gpu::Backward pass(c.problem, TileMap(c.problem), c.schedule, options);
  } catch (const BadInput& error) {
    message = error.what();
  } catch (const EnvironmentError& error) {
    message = error.what();  // a build without CUDA cannot know its kernels
    CHECK_FALSE(gpu::built_with_cuda());
    return;
  }
  CHECK(message.find("head_dim 128 with --tile-q 64 or 80") != std::string::npos);
}

TEST_CASE("Our kernel gives the gradients that FlashAttention-3 gave, bit for bit") {
  for (const char* name :
       {"ascending_full_d128_s400", "shift_full_d128_s1024", "spt_causal_d128_s384", "spt_causal_d64_s512"}) {
    INFO(name);
    const SafetensorsFile file(std::string(DASHLAB_TEST_DATA) + "/fa3/" + name + ".safetensors");
    const AttentionInputs in{file.tensor("q"),  file.tensor("k"), file.tensor("v"),
                             file.tensor("do"), file.tensor("o"), file.tensor("lse")};
    Case c;
    c.problem = problem_of(in);
    c.problem.mask = parse_mask(*file.metadata("mask"));
    c.problem.tile_q = std::stoll(*file.metadata("tile_q"));
    c.problem.tile_kv = std::stoll(*file.metadata("tile_kv"));
    c.schedule =
        make_schedule(*file.metadata("schedule"), c.problem, TileMap(c.problem), {132, GroupMode::per_head});
    if (!has_hopper()) {
      CHECK_THROWS_AS(run_on_gpu(c, in, std::stof(*file.metadata("scale"))), EnvironmentError);
      continue;
    }
    const Gradients got = run_on_gpu(c, in, std::stof(*file.metadata("scale")));
    CHECK(compare("dq", file.tensor("dq"), got.dq.view()).differ == 0);
    CHECK(compare("dk", file.tensor("dk"), got.dk.view()).differ == 0);
    CHECK(compare("dv", file.tensor("dv"), got.dv.view()).differ == 0);
  }
}

TEST_CASE("GPU and emulator agree on every bit, forward and backward") {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    const Case c = small(dtype);
    const float scale = default_scale(c.problem.head_dim);
    const SeededInputs seeded = make_inputs(c.problem, dtype, 5, {});
    AttentionInputs inputs = seeded.view();
    Problem forward_tiles = c.problem;
    forward_tiles.tile_q = forward_tiles.tile_kv = 128;
    const ForwardResult forward = run_recipe_forward({"dashlab", scale, 8}, forward_tiles, inputs, {});
    if (!has_hopper()) {
      CHECK_THROWS_AS(gpu::forward_on_gpu(forward_tiles, inputs, scale), EnvironmentError);
      continue;
    }
    const ForwardResult on_gpu = gpu::forward_on_gpu(forward_tiles, inputs, scale);
    CHECK(compare("o", forward.o.view(), on_gpu.o.view()).differ == 0);
    CHECK(compare("lse", forward.lse.view(), on_gpu.lse.view()).differ == 0);
    inputs.o = forward.o.view();
    inputs.lse = forward.lse.view();
    const Gradients cpu =
        run_recipe_backward({"dashlab", scale, 8}, c.problem, TileMap(c.problem), c.schedule, inputs, {});
    const Gradients got = run_on_gpu(c, inputs, scale);
    CHECK(compare("dq", cpu.dq.view(), got.dq.view()).differ == 0);
    CHECK(compare("dk", cpu.dk.view(), got.dk.view()).differ == 0);
    CHECK(compare("dv", cpu.dv.view(), got.dv.view()).differ == 0);
  }
}
