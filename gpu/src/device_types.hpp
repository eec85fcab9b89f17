// What host and device share: the device form of a schedule, the watchdog's report, trace records. Plain
// structs only.
#pragma once

#include <cstdint>

namespace dashlab::gpu {

/// One chain as a kernel reads it: whose K and V, which steps, and its place among the q heads that share
/// them.
struct DeviceChain {
  std::uint64_t step_begin = 0;
  std::uint32_t step_count = 0;
  std::uint32_t kv_head = 0;  ///< over the whole batch
  std::uint32_t kv_tile = 0;
  std::uint32_t group_rank = 0;   ///< place in the order in which a group's q heads add dK and dV
  std::uint32_t group_count = 1;  ///< how many add; 1: this chain writes dK and dV by itself
  std::uint32_t q_head = 0;       ///< of the first step, for messages
};

/// One step. `row` is head * q_tiles + q_tile, the index of the ticket and of the dQ accumulator.
struct alignas(16) DeviceStep {
  std::uint32_t row = 0;
  std::uint32_t q_tile = 0;
  std::uint32_t head = 0;            ///< q head over the whole batch
  std::uint32_t rank_and_flags = 0;  ///< rank * 4 + flags

  static constexpr std::uint32_t partial = 1;  ///< the mask cuts this tile
  static constexpr std::uint32_t first = 2;    ///< the first addend of its row: it stores
#ifdef __CUDACC__
  __host__ __device__
#endif
      [[nodiscard]] std::uint32_t
      rank() const noexcept {
    return rank_and_flags >> 2;
  }
};

/// What the watchdog saw when it ended a kernel.
struct StuckReport {
  std::uint32_t fired = 0;
  std::uint32_t cta = 0;
  std::uint32_t head = 0;
  std::uint32_t q_tile = 0;
  std::uint32_t kv_tile = 0;
  std::uint32_t expected = 0;
  std::uint32_t seen = 0;
  std::uint32_t in_group = 0;  ///< 1: the ticket of a grouped-query dK/dV sum, else of a dQ row
};

/// Times of one step in cycles of its SM, and where it ran.
struct TaskTrace {
  std::int64_t compute_start = 0;
  std::int64_t compute_end = 0;
  std::int64_t reduce_start = 0;
  std::int64_t reduce_end = 0;
  std::uint32_t sm = 0;  ///< the CTA's number
  std::uint32_t chain = 0;
};

/// Two readings of both clocks per CTA, from which cycles become nanoseconds.
struct CtaClock {
  std::int64_t cycles_start = 0;
  std::int64_t cycles_end = 0;
  std::int64_t ns_start = 0;
  std::int64_t ns_end = 0;
};

/// Keys begin..end-1 that a query row sees.
struct alignas(8) DeviceKeyRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// Everything about order and safety that every backward kernel needs; device pointers.
struct ScheduleView {
  const DeviceChain* chains = nullptr;
  const DeviceStep* steps = nullptr;
  const std::uint32_t* cta_begin =
      nullptr;  ///< static placement: CTA c runs chains cta_begin[c]..cta_begin[c+1]-1
  std::uint32_t chain_count = 0;
  std::uint32_t* queue = nullptr;          ///< dynamic placement: the next chain
  std::uint32_t* tickets = nullptr;        ///< per row: how many have added
  std::uint32_t* group_tickets = nullptr;  ///< per (kv head, kv tile)
  bool ordered = true;                     ///< false: add as tiles arrive
  StuckReport* report = nullptr;
  std::uint64_t watchdog_ns = 0;
  std::uint64_t perturb_seed = 0;  ///< 0: no delays
  TaskTrace* trace = nullptr;      ///< per step, or null
  CtaClock* clocks = nullptr;      ///< per CTA, or null
};

}  // namespace dashlab::gpu
