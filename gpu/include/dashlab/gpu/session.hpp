// Host tensors in, host tensors out: what the command line and the tests need around Backward and Forward.
// Memory is allocated here, once; repeated runs are compared on the GPU, every byte.
#pragma once

#include <cstdint>
#include <memory>

#include "dashlab/emulator/attention.hpp"
#include "dashlab/gpu/backward.hpp"

namespace dashlab::gpu {

/// The profile of tensors of this type.
Profile profile_of(DType dtype) noexcept;

/// O and LSE of q, k, v, on the GPU. Tile sizes are the problem's: the recipe's forward tiles.
ForwardResult forward_on_gpu(const Problem& problem, const AttentionInputs& inputs, float scale);

/// One backward pass on tensors that were uploaded once.
class BackwardSession {
 public:
  /// Uploads `inputs` (all of them) and prepares the pass. Throws as Backward does, and EnvironmentError when
  /// the GPU has too little memory. Outputs and workspace hold whatever was there before.
  BackwardSession(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                  const AttentionInputs& inputs, const BackwardOptions& options);
  ~BackwardSession();
  BackwardSession(const BackwardSession&) = delete;
  BackwardSession& operator=(const BackwardSession&) = delete;

  /// Runs once and waits. `dirty`: workspace and outputs are filled with 0xff first.
  void run(bool dirty);
  /// Milliseconds of the last run, preprocess and postprocess included.
  [[nodiscard]] double milliseconds() const noexcept;
  /// Keeps a copy of the results on the GPU for differs().
  void remember();
  /// How many 4-byte words of dq, dk and dv differ from the remembered ones.
  [[nodiscard]] std::uint64_t differing_words();
  /// dq, dk and dv of the last run, copied to the host.
  [[nodiscard]] Gradients results() const;
  /// See Backward::timeline.
  [[nodiscard]] Timeline timeline() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dashlab::gpu
