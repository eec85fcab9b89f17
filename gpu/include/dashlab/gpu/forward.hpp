// The forward pass on the GPU: O and LSE with the bits of the emulator's recipe fa3 (16-bit profiles) or
// dashlab (ieee-fp32). It feeds the backward pass; it is written to be right and readable, not to be fast.
#pragma once

#include <cstddef>
#include <memory>

#include "dashlab/core/problem.hpp"
#include "dashlab/gpu/backward.hpp"

namespace dashlab::gpu {

/// Device pointers as in BackwardTensors; o and lse are written.
struct ForwardTensors {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* o = nullptr;
  float* lse = nullptr;
};

/// One planned forward pass. Bits depend on the problem's tile_kv, so give it the recipe's forward tiles.
class Forward {
 public:
  /// Throws BadInput for tiles no kernel is built for (16-bit: head_dim 64 with tile_kv 128 or 192, head_dim
  /// 128 with tile_kv 128 or 176; tile_q a multiple of 16 up to 192), EnvironmentError without a fitting GPU.
  Forward(const Problem& problem, Profile profile, float scale);
  Forward(Forward&&) noexcept;
  Forward& operator=(Forward&&) noexcept;
  ~Forward();

  /// Device memory that prepare() wants.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;
  /// Copies the plan into the workspace; it may hold anything before.
  void prepare(void* workspace, void* stream);
  /// Launches on `stream` and returns.
  void run(const ForwardTensors& tensors, void* stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dashlab::gpu
