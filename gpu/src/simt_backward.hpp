// Profile ieee-fp32: plain threads and fused multiply-adds, for any GPU from sm_70.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "device_types.hpp"

namespace dashlab::gpu {

struct SimtParams {
  ScheduleView schedule;
  const float *q = nullptr, *k = nullptr, *v = nullptr, *o = nullptr, *dout = nullptr, *lse = nullptr;
  float *dq = nullptr, *dk = nullptr, *dv = nullptr;
  float* lse2 = nullptr;  ///< [total_heads][seqlen_q]
  float* dpsum = nullptr;
  float* dq_accumulator = nullptr;     ///< [total_heads][seqlen_q][head_dim]
  float* group_accumulator = nullptr;  ///< [kv_head * kv_tiles + kv_tile][2][tile_kv * head_dim]
  float* scratch = nullptr;            ///< per CTA: simt_scratch_floats
  const DeviceKeyRange* key_ranges = nullptr;
  const std::uint32_t* row_addends = nullptr;
  std::int64_t seqlen_q = 0, seqlen_k = 0;
  std::uint32_t total_heads = 1, heads = 1, kv_heads = 1, q_tiles = 1, kv_tiles = 1;
  int head_dim = 64, tile_q = 64, tile_kv = 64;
  float scale = 1.0F, scale_log2 = 1.0F;
  bool second_pass = false;  ///< run the chains of the dQ pass instead: `kv_tile` of a chain is its q tile
};

/// p and dS of one tile, dK and dV (or dQ) of one chain.
std::size_t simt_scratch_floats(std::int64_t tile_q, std::int64_t tile_kv, std::int64_t head_dim) noexcept;

/// How many CTAs are resident at once on this GPU.
cudaError_t simt_resident(int* ctas);

cudaError_t launch_simt_rows(const SimtParams& params, cudaStream_t stream);
cudaError_t launch_simt_backward(const SimtParams& params, unsigned ctas, cudaStream_t stream);
/// dq = accumulator * scale, 0 where nothing was added.
cudaError_t launch_simt_finish(const SimtParams& params, cudaStream_t stream);

}  // namespace dashlab::gpu
