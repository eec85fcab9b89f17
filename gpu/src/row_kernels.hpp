// The kernels before and after the Hopper main kernel: row statistics in, dQ out.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace dashlab::gpu {

/// lse2 and dpsum of every row, padded to whole q tiles with zeros: [heads * q_tiles][tile_q].
struct PreprocessParams {
  const std::uint16_t* dout = nullptr;
  const std::uint16_t* o = nullptr;
  const float* lse = nullptr;
  float* lse2 = nullptr;
  float* dpsum = nullptr;
  std::uint32_t total_heads = 1, heads = 1, q_tiles = 1, tile_q = 64;
  std::int64_t seqlen_q = 0;
  int head_dim = 128;
  bool bf16 = true;
};
cudaError_t launch_preprocess(const PreprocessParams& params, cudaStream_t stream);

/// dq = 16-bit(accumulator * scale); rows of tiles that nothing was added to are zero.
struct PostprocessParams {
  const float* accumulator = nullptr;  ///< [row][tile_q * head_dim] in the order of dq_place
  const std::uint32_t* row_addends = nullptr;
  std::uint16_t* dq = nullptr;
  std::uint32_t total_heads = 1, heads = 1, q_tiles = 1;
  int tile_q = 64, head_dim = 128;
  std::int64_t seqlen_q = 0;
  float scale = 1.0F;
  bool bf16 = true;
};
cudaError_t launch_postprocess(const PostprocessParams& params, cudaStream_t stream);

}  // namespace dashlab::gpu
