// The forward kernels and what they read.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "device_types.hpp"

namespace dashlab::gpu {

struct ForwardParams {
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  void* o = nullptr;
  float* lse = nullptr;
  const std::uint32_t* row_begin =
      nullptr;  ///< per q tile: its kv tiles are row_kv[row_begin[q]..row_begin[q+1]-1]
  const std::uint32_t* row_kv = nullptr;  ///< ascending; walked from the end
  const DeviceKeyRange* key_ranges = nullptr;
  std::int64_t seqlen_q = 0, seqlen_k = 0;
  std::uint32_t heads = 1, kv_heads = 1, total_heads = 1, q_tiles = 1;
  int head_dim = 64, tile_q = 128, tile_kv = 128;
  float scale = 1.0F, scale_log2 = 1.0F;
};

bool hopper_forward_exists(std::int64_t head_dim, std::int64_t tile_q, std::int64_t tile_kv) noexcept;
cudaError_t launch_hopper_forward(const ForwardParams& params, bool bf16, cudaStream_t stream);
cudaError_t launch_simt_forward(const ForwardParams& params, cudaStream_t stream);

}  // namespace dashlab::gpu
