// Which Hopper kernels are built, and how they are launched.
#pragma once

#include <cuda_runtime_api.h>

#include "hopper_layout.cuh"

namespace dashlab::gpu {

/// The kernel for these sizes, or false. tile_kv is 128 in all of them.
bool hopper_kernel_exists(std::int64_t head_dim, std::int64_t tile_q, std::int64_t tile_kv) noexcept;

/// Shared memory of one CTA.
std::size_t hopper_shared_bytes(std::int64_t head_dim, std::int64_t tile_q) noexcept;

/// What a launch needs beside the parameters.
struct HopperLaunch {
  std::int64_t head_dim = 128, tile_q = 64;
  bool bf16 = true;
  unsigned ctas = 1;
  cudaStream_t stream = nullptr;
};

/// Cooperative launches of `ctas` CTAs, one per SM: all are resident, or the launch fails.
cudaError_t launch_hopper_backward(const HopperParams& params, const HopperLaunch& launch);
/// Schedule two-pass: dK and dV only, then dQ by the chains of the second pass.
cudaError_t launch_hopper_first_pass(const HopperParams& params, const HopperLaunch& launch);
cudaError_t launch_hopper_second_pass(const HopperParams& params, const HopperLaunch& launch);

/// A tensor map for [batch, seqlen, heads, head_dim] of 16-bit elements: boxes of `rows` x 64 columns of one
/// head, swizzled by 128 bytes. Throws EnvironmentError.
CUtensorMap make_tensor_map(const void* data, std::int64_t batch, std::int64_t seqlen, std::int64_t heads,
                            std::int64_t head_dim, int rows, bool bf16);

}  // namespace dashlab::gpu
