// mbarriers: how the warps of a CTA and the TMA engine hand shared memory to each other (PTX ISA, section
// "mbarrier").
#pragma once

#include <cstdint>

#include "memory.cuh"

namespace dashlab::gpu::ptx {

using Mbarrier = std::uint64_t;

/// Longest wait for one phase before the kernel ends itself.
inline constexpr std::uint64_t wait_limit_ns = 20'000'000'000ULL;

__device__ __forceinline__ void init(Mbarrier& barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals)
               : "memory");
}

/// Makes initialised barriers visible to the async proxy.
__device__ __forceinline__ void fence_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void arrive(Mbarrier& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

/// Arrives, and lets the phase wait for `bytes` of TMA traffic too.
__device__ __forceinline__ void arrive_expect_tx(Mbarrier& barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
               "r"(bytes)
               : "memory");
}

/// Waits for the phase with this parity. Bounded: barriers inside a CTA complete whenever tickets do, and
/// those are guarded by the watchdog, so a wait this long is a defect of the kernel: it ends with an error
/// instead of hanging. One block of assembly: loops that the compiler sees here cost the matrix warps their
/// registers (nvcc 13.0).
__device__ __forceinline__ void wait(Mbarrier& barrier, std::uint32_t parity) {
  asm volatile(
      "{\n\t"
      ".reg .pred done;\n\t"
      ".reg .pred other;\n\t"
      ".reg .u64 start;\n\t"
      ".reg .u64 now;\n\t"
      "mov.u64 start, 0;\n"
      "again_%=:\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
      "@done bra.uni finished_%=;\n\t"
      "mov.u64 now, %%globaltimer;\n\t"
      "setp.eq.u64 other, start, 0;\n\t"
      "@other mov.u64 start, now;\n\t"
      "sub.u64 now, now, start;\n\t"
      "setp.gt.u64 other, now, %2;\n\t"
      "@other trap;\n\t"
      "bra.uni again_%=;\n"
      "finished_%=:\n\t"
      "}" ::"r"(shared_address(&barrier)),
      "r"(parity), "n"(wait_limit_ns)
      : "memory");
}

/// Use number `use` of a ring of `slots` barriers: which one, and the parity of the phase that this use
/// completes.
template <int slots>
__device__ __forceinline__ std::uint32_t slot_of(std::uint32_t use) {
  static_assert(slots == 1 || slots == 2);
  return slots == 1 ? 0 : use & 1U;
}
template <int slots>
__device__ __forceinline__ std::uint32_t parity_of(std::uint32_t use) {
  return (slots == 1 ? use : use >> 1) & 1U;
}

}  // namespace dashlab::gpu::ptx
