// Plans and launches the forward pass.
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "check.hpp"
#include "dashlab/core/tile_map.hpp"
#include "dashlab/gpu/device.hpp"
#include "dashlab/gpu/forward.hpp"
#include "forward_kernels.hpp"
#include "lowering.hpp"

namespace dashlab::gpu {

struct Forward::State {
  Problem problem;
  Profile profile = Profile::hopper_bf16;
  float scale = 1.0F;
  std::vector<std::uint32_t> row_begin, row_kv;
  std::vector<DeviceKeyRange> key_ranges;
  std::size_t at_kv = 0, at_ranges = 0, bytes = 0;
  std::byte* workspace = nullptr;
};

Forward::Forward(const Problem& problem, Profile profile, float scale) : state_(std::make_unique<State>()) {
  check(problem);
  if (problem.in_tiles) throw BadInput("the problem is given in tiles; a run needs tokens: use --seqlen");
  const bool simt = profile == Profile::ieee_fp32;
  if (simt && (problem.head_dim > 256 || problem.tile_kv > 1024))
    throw BadInput("ieee-fp32 forward: head_dim goes up to 256 and tile_kv up to 1024");
  if (!simt && !hopper_forward_exists(problem.head_dim, problem.tile_q, problem.tile_kv))
    throw BadInput("no " + std::string(to_string(profile)) + " forward kernel for head_dim " +
                   std::to_string(problem.head_dim) + " with tiles " + std::to_string(problem.tile_q) + "x" +
                   std::to_string(problem.tile_kv) +
                   "; head_dim 64 has 128 or 192 kv columns, head_dim 128 has 128 or 176");
  const DeviceInfo device = require_device();
  if (!simt && (device.major != 9 || device.minor != 0))
    throw EnvironmentError("the GPU (" + device.name + ") is not sm_90; use --profile ieee-fp32");
  State& s = *state_;
  s.problem = problem;
  s.profile = profile;
  s.scale = scale;
  const TileMap tiles(problem);
  s.row_begin.push_back(0);
  for (std::uint32_t q = 0; q < tiles.q_tiles(); ++q) {
    const auto row = tiles.row(QTile{q});
    s.row_kv.insert(s.row_kv.end(), row.begin(), row.end());
    s.row_begin.push_back(static_cast<std::uint32_t>(s.row_kv.size()));
  }
  s.key_ranges = padded_key_ranges(problem);
  const auto up = [](std::size_t n) { return (n + 255) / 256 * 256; };
  s.at_kv = up(s.row_begin.size() * 4);
  s.at_ranges = s.at_kv + up(s.row_kv.size() * 4);
  s.bytes = s.at_ranges + up(s.key_ranges.size() * sizeof(DeviceKeyRange));
}

Forward::Forward(Forward&&) noexcept = default;
Forward& Forward::operator=(Forward&&) noexcept = default;
Forward::~Forward() = default;

std::size_t Forward::workspace_bytes() const noexcept {
  return state_->bytes;
}

void Forward::prepare(void* workspace, void* stream) {
  State& s = *state_;
  s.workspace = static_cast<std::byte*>(workspace);
  const auto upload = [&](std::size_t offset, const auto& vector) {
    check_cuda(cudaMemcpyAsync(s.workspace + offset, vector.data(), vector.size() * sizeof(vector[0]),
                               cudaMemcpyHostToDevice, as_stream(stream)),
               "uploading the tile map");
  };
  upload(0, s.row_begin);
  upload(s.at_kv, s.row_kv);
  upload(s.at_ranges, s.key_ranges);
  check_cuda(cudaStreamSynchronize(as_stream(stream)), "uploading the tile map");
}

void Forward::run(const ForwardTensors& tensors, void* stream) {
  const State& s = *state_;
  if (s.workspace == nullptr) throw BadInput("Forward::run before prepare()");
  ForwardParams p;
  p.q = tensors.q;
  p.k = tensors.k;
  p.v = tensors.v;
  p.o = tensors.o;
  p.lse = tensors.lse;
  p.row_begin = reinterpret_cast<const std::uint32_t*>(s.workspace);
  p.row_kv = reinterpret_cast<const std::uint32_t*>(s.workspace + s.at_kv);
  p.key_ranges = reinterpret_cast<const DeviceKeyRange*>(s.workspace + s.at_ranges);
  p.seqlen_q = s.problem.seqlen_q;
  p.seqlen_k = s.problem.seqlen_k;
  p.heads = static_cast<std::uint32_t>(s.problem.heads);
  p.kv_heads = static_cast<std::uint32_t>(s.problem.kv_heads);
  p.total_heads = static_cast<std::uint32_t>(s.problem.total_heads());
  p.q_tiles = static_cast<std::uint32_t>(s.problem.q_tiles());
  p.head_dim = static_cast<int>(s.problem.head_dim);
  p.tile_q = static_cast<int>(s.problem.tile_q);
  p.tile_kv = static_cast<int>(s.problem.tile_kv);
  p.scale = s.scale;
  p.scale_log2 = static_cast<float>(static_cast<double>(s.scale) * std::numbers::log2e);
  check_cuda(s.profile == Profile::ieee_fp32
                 ? launch_simt_forward(p, as_stream(stream))
                 : launch_hopper_forward(p, s.profile == Profile::hopper_bf16, as_stream(stream)),
             "launching the forward kernel");
}

}  // namespace dashlab::gpu
