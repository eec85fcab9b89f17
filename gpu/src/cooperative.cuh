// Launches a kernel so that all its CTAs are resident at once, or not at all: tickets wait for each other.
#pragma once

#include <cuda_runtime.h>

#include "hopper_launch.hpp"

namespace dashlab::gpu {

template <class Shared>
cudaError_t launch_cooperative(void (*kernel)(HopperParams), const HopperParams& params,
                               const HopperLaunch& launch, int threads) {
  constexpr auto bytes = static_cast<int>(sizeof(Shared));
  static_assert(bytes <= 227 * 1024, "more shared memory than a Hopper CTA can have");
  const cudaError_t set = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (set != cudaSuccess) return set;
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(launch.ctas);
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = bytes;
  config.stream = launch.stream;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, params);
}

}  // namespace dashlab::gpu
