// Ordering and time, in the PTX manual's words: acquire, release, proxy fences, clocks (PTX ISA, sections
// "Memory Consistency Model", "membar/fence", "Special Registers").
#pragma once

#include <cstdint>

namespace dashlab::gpu::ptx {

/// Address of a shared-memory object as the 32-bit number that PTX instructions take.
__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Load at gpu scope; what the releasing thread wrote before its release is visible afterwards.
__device__ __forceinline__ std::uint32_t load_acquire(const std::uint32_t* address) {
  std::uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

/// Adds at gpu scope; everything this thread saw or wrote before is visible to who acquires the new value.
__device__ __forceinline__ void add_release(std::uint32_t* address, std::uint32_t value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

/// Plain load that no cache may serve stale: for the abort flag.
__device__ __forceinline__ std::uint32_t load_volatile(const std::uint32_t* address) {
  std::uint32_t value;
  asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

/// Nanoseconds since some start, the same on every SM. Ticks coarsely.
__device__ __forceinline__ std::uint64_t global_timer() {
  std::uint64_t value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
  return value;
}

/// Cycles of this SM.
__device__ __forceinline__ std::uint64_t sm_clock() {
  std::uint64_t value;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(value)::"memory");
  return value;
}

__device__ __forceinline__ std::uint32_t sm_id() {
  std::uint32_t value;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(value));
  return value;
}

/// A barrier among `threads` threads of the CTA; number 0 is __syncthreads().
__device__ __forceinline__ void named_barrier(int number, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/// Orders this thread's ordinary accesses with those of the async proxy (TMA, wgmma), in shared memory.
__device__ __forceinline__ void fence_proxy_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// The same for global memory.
__device__ __forceinline__ void fence_proxy_async_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
#endif

}  // namespace dashlab::gpu::ptx
