// Tickets: who may add to a row of dQ now. A wait is bounded: the watchdog writes what was expected and seen,
// raises the abort flag, and from then on nobody waits, so that every CTA drains its pipeline and leaves.
#pragma once

#include "device_types.hpp"
#include "ptx/memory.cuh"

namespace dashlab::gpu {

/// Who waits, for the report.
struct Waiter {
  std::uint32_t head, q_tile, kv_tile, in_group;
};

/// Waits until `*ticket == expected`. Returns at once when the watchdog has fired anywhere.
__device__ inline void wait_for_ticket(const ScheduleView& schedule, const std::uint32_t* ticket,
                                       std::uint32_t expected, const Waiter& who) {
  std::uint32_t seen = ptx::load_acquire(ticket);
  if (seen == expected) return;
  const std::uint64_t start = ptx::global_timer();
  std::uint32_t polls = 0;
  while (seen != expected) {
    seen = ptx::load_acquire(ticket);
    if ((++polls & 63U) != 0) continue;
    if (ptx::load_volatile(&schedule.report->fired) != 0) return;
    if (ptx::global_timer() - start > schedule.watchdog_ns) {
      if (atomicCAS(&schedule.report->fired, 0U, 1U) == 0U) {
        StuckReport& report = *schedule.report;
        report.cta = blockIdx.x;
        report.head = who.head;
        report.q_tile = who.q_tile;
        report.kv_tile = who.kv_tile;
        report.expected = expected;
        report.seen = seen;
        report.in_group = who.in_group;
        __threadfence();
      }
      return;
    }
  }
}

/// The next chain of this CTA, or schedule.chain_count when there is none. `position` starts at 0.
__device__ inline std::uint32_t next_chain(const ScheduleView& schedule, std::uint32_t& position) {
  if (schedule.cta_begin == nullptr) return min(atomicAdd(schedule.queue, 1U), schedule.chain_count);
  const std::uint32_t chain = schedule.cta_begin[blockIdx.x] + position++;
  return chain < schedule.cta_begin[blockIdx.x + 1] ? chain : schedule.chain_count;
}

/// A delay of up to 8 microseconds that depends on the seed and the place only; nothing without a seed.
__device__ inline void perturb(const ScheduleView& schedule, std::uint64_t place) {
  if (schedule.perturb_seed == 0) return;
  std::uint64_t x = schedule.perturb_seed * 0x9e3779b97f4a7c15ULL ^ (place + 0x632be59bd9b4e019ULL);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  x ^= x >> 31;
  if ((x & 3U) == 0) __nanosleep(static_cast<unsigned>((x >> 8) & 0x1fffU));
}

/// Both clocks of this CTA; called by one thread.
__device__ inline void record_clock(const ScheduleView& schedule, bool at_end) {
  if (schedule.clocks == nullptr) return;
  CtaClock& clock = schedule.clocks[blockIdx.x];
  const auto ns = static_cast<std::int64_t>(ptx::global_timer());
  const auto cycles = static_cast<std::int64_t>(ptx::sm_clock());
  if (at_end) {
    clock.cycles_end = cycles;
    clock.ns_end = ns;
  } else {
    clock.cycles_start = cycles;
    clock.ns_start = ns;
  }
}

}  // namespace dashlab::gpu
