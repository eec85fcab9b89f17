// The backward pass of a schedule on the GPU: dQ, dK and dV with the bits of the CPU emulator (docs/gpu.md).
// No CUDA types here: device pointers are void*, a stream is the void* behind a cudaStream_t.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "dashlab/core/problem.hpp"
#include "dashlab/core/schedule.hpp"
#include "dashlab/core/tile_map.hpp"
#include "dashlab/core/timeline.hpp"

namespace dashlab::gpu {

/// Numerics of a kernel and the type of its tensors: BF16, F16 (wgmma, sm_90 only) or F32 (any GPU from
/// sm_70).
enum class Profile : std::uint8_t { hopper_bf16, hopper_fp16, ieee_fp32 };

/// "hopper-bf16", "hopper-fp16", "ieee-fp32".
std::string_view to_string(Profile profile) noexcept;
/// Throws BadInput with the known names.
Profile parse_profile(std::string_view name);
/// Bytes of one element of the profile's tensors.
constexpr std::size_t element_bytes(Profile profile) noexcept {
  return profile == Profile::ieee_fp32 ? 4 : 2;
}

/// Device pointers, 16-byte aligned, contiguous. q, o, dout, dq: [batch, seqlen_q, heads, head_dim]; k, v,
/// dk, dv: [batch, seqlen_k, kv_heads, head_dim]; lse: F32 [batch, heads, seqlen_q], natural logarithm, -inf
/// for rows without keys.
struct BackwardTensors {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  const void* o = nullptr;
  const void* dout = nullptr;
  const float* lse = nullptr;
  void* dq = nullptr;
  void* dk = nullptr;
  void* dv = nullptr;
};

/// How a pass runs. Only `profile` and `scale` decide bits.
struct BackwardOptions {
  Profile profile = Profile::hopper_bf16;
  float scale = 1.0F;  ///< of the scores
  std::uint64_t perturb_seed =
      0;                        ///< not 0: delays tasks at random by a few microseconds; bits must not change
  bool trace = false;           ///< record when every task ran
  double watchdog_seconds = 0;  ///< longest wait for a ticket; 0: 2 s and what the work may take at 1 TFLOP/s
  bool launch_unverified = false;  ///< for tests of the watchdog: launch what verify() refuses
};

/// One planned backward pass. Construction checks, verifies and lowers the schedule; run() only launches.
/// One run at a time per object.
class Backward {
 public:
  /// Throws BadInput for a schedule that verify() refuses and for sizes no kernel is built for;
  /// EnvironmentError without a fitting GPU.
  Backward(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
           const BackwardOptions& options);
  Backward(Backward&&) noexcept;
  Backward& operator=(Backward&&) noexcept;
  ~Backward();

  /// Device memory that prepare() wants, 256-byte aligned as cudaMalloc gives it.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;
  /// Uploads the schedule into `workspace`, which must outlive every run. Its old contents do not matter.
  void prepare(void* workspace, void* stream);
  /// Launches preprocess, main kernel and postprocess on `stream` and returns. Allocates nothing.
  void run(const BackwardTensors& tensors, void* stream);
  /// Fills all of the workspace that a run writes before it reads with 0xff: the next run must not notice.
  void poison(void* stream);
  /// Waits for the stream. Throws EnvironmentError for a CUDA error, and Stuck when the watchdog ended the
  /// kernel.
  void finish(void* stream);
  /// Measured times of the last run in nanoseconds from its first task; finish() first. Needs options.trace.
  [[nodiscard]] Timeline timeline() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What the watchdog saw: this CTA waited for its turn at a row and the turn did not come.
struct StuckTicket {
  std::uint32_t cta = 0, head = 0, q_tile = 0, kv_tile = 0, expected = 0, seen = 0;
  bool group = false;  ///< a grouped-query dK/dV sum, not a dQ row
};

/// The watchdog ended the kernel; the gradients are worthless.
class Stuck : public std::runtime_error {
 public:
  /// The message names the CTA, the row and the ticket.
  explicit Stuck(const StuckTicket& ticket);
  /// What the watchdog saw.
  [[nodiscard]] const StuckTicket& ticket() const noexcept { return ticket_; }

 private:
  StuckTicket ticket_;
};

/// Plans, allocates a workspace, runs once and waits: for programs that call it once. `stream` may be null.
void run(const Problem& problem, const Schedule& schedule, const BackwardTensors& tensors,
         const BackwardOptions& options, void* stream = nullptr);

}  // namespace dashlab::gpu
