// Development check: recorded FlashAttention-3 gradients against our kernel. Arguments: safetensors files.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "dashlab/core/error.hpp"
#include "dashlab/emulator/attention.hpp"
#include "dashlab/emulator/compare.hpp"
#include "dashlab/emulator/safetensors.hpp"
#include "dashlab/gpu/backward.hpp"
#include "dashlab/gpu/device.hpp"

using namespace dashlab;

namespace {

gpu::DeviceBuffer uploaded(const TensorView& t) {
  gpu::DeviceBuffer buffer(t.size_bytes());
  buffer.upload(t.data, t.size_bytes());
  return buffer;
}

bool same(const char* name, const TensorView& expected, const gpu::DeviceBuffer& got) {
  Tensor host(expected.dtype, expected.shape);
  got.download(host.data(), expected.size_bytes());
  const Comparison c = compare(name, expected, host.view());
  std::printf("  %s: %lld elements, %lld differ", name, static_cast<long long>(c.elements),
              static_cast<long long>(c.differ));
  if (c.differ > 0)
    std::printf(", first %lld: %s against %s", static_cast<long long>(c.first),
                describe(expected, c.first).c_str(), describe(host.view(), c.first).c_str());
  std::printf("\n");
  std::fflush(stdout);
  return c.differ == 0;
}

bool run_file(const std::string& path) {
  const SafetensorsFile file(path);
  AttentionInputs in{file.tensor("q"),  file.tensor("k"), file.tensor("v"),
                     file.tensor("do"), file.tensor("o"), file.tensor("lse")};
  Problem problem = problem_of(in);
  problem.mask = parse_mask(*file.metadata("mask"));
  problem.tile_q = std::stoll(*file.metadata("tile_q"));
  problem.tile_kv = std::stoll(*file.metadata("tile_kv"));
  const TileMap tiles(problem);
  const Schedule schedule =
      make_schedule(*file.metadata("schedule"), problem, tiles, {132, GroupMode::per_head});
  gpu::BackwardOptions options;
  options.profile = gpu::Profile::hopper_bf16;
  options.scale = std::stof(*file.metadata("scale"));
  options.watchdog_seconds = 2;
  gpu::Backward pass(problem, tiles, schedule, options);
  gpu::DeviceBuffer workspace(pass.workspace_bytes());
  workspace.fill(0xff);
  const auto q = uploaded(in.q), k = uploaded(in.k), v = uploaded(in.v), o = uploaded(in.o),
             dout = uploaded(in.dout), lse = uploaded(in.lse);
  gpu::DeviceBuffer dq(in.q.size_bytes()), dk(in.k.size_bytes()), dv(in.k.size_bytes());
  dq.fill(0xff), dk.fill(0xff), dv.fill(0xff);
  pass.prepare(workspace.data(), nullptr);
  pass.run({q.data(), k.data(), v.data(), o.data(), dout.data(), static_cast<const float*>(lse.data()),
            dq.data(), dk.data(), dv.data()},
           nullptr);
  pass.finish(nullptr);
  std::printf("%s (%s)\n", path.c_str(), schedule.name.c_str());
  bool all = same("dv", file.tensor("dv"), dv);
  all = same("dk", file.tensor("dk"), dk) && all;
  return same("dq", file.tensor("dq"), dq) && all;
}

}  // namespace

int main(int argc, char** argv) {
  bool all = true;
  for (int i = 1; i < argc; ++i) try {
      all = run_file(argv[i]) && all;
    } catch (const std::exception& error) {
      std::printf("%s: %s\n", argv[i], error.what());
      all = false;
    }
  return all ? 0 : 1;
}
