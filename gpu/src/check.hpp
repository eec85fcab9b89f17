// CUDA calls are always checked: errors become EnvironmentError with the call's purpose in one line.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "dashlab/core/error.hpp"

namespace dashlab::gpu {

inline void check_cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  const std::string hint =
      error == cudaErrorMemoryAllocation ? "; the GPU has too little free memory for this problem" : "";
  throw EnvironmentError(std::string("CUDA: ") + what + ": " + cudaGetErrorString(error) + hint);
}

inline cudaStream_t as_stream(void* stream) noexcept {
  return static_cast<cudaStream_t>(stream);
}

}  // namespace dashlab::gpu
