// The bulk copy engine (TMA): tiles and rows into shared memory, f32 tiles out of it by store or by
// reduce-add (PTX ISA, "cp.async.bulk", "cp.async.bulk.tensor", "cp.reduce.async.bulk").
#pragma once

#include <cuda.h>

#include <cstdint>

#include "mbarrier.cuh"

namespace dashlab::gpu::ptx {

/// A box of a 4-dimensional tensor into shared memory; rows outside the tensor arrive as zeros.
__device__ __forceinline__ void copy_tensor(void* destination, const CUtensorMap& map, std::int32_t c0,
                                            std::int32_t c1, std::int32_t c2, std::int32_t c3,
                                            Mbarrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, "
      "%5}], "
      "[%6];" ::"r"(shared_address(destination)),
      "l"(&map), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(shared_address(&barrier))
      : "memory");
}

/// `bytes` (a multiple of 16) from global to shared memory.
__device__ __forceinline__ void copy_bulk(void* destination, const void* source, std::uint32_t bytes,
                                          Mbarrier& barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(destination)),
      "l"(source), "r"(bytes), "r"(shared_address(&barrier))
      : "memory");
}

__device__ __forceinline__ void store_bulk(void* destination, const void* source, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(destination),
               "r"(shared_address(source)), "r"(bytes)
               : "memory");
}

/// destination[i] += source[i] in f32, each addition rounded to nearest.
__device__ __forceinline__ void reduce_add_bulk(float* destination, const float* source,
                                                std::uint32_t bytes) {
  asm volatile(
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(destination),
      "r"(shared_address(source)), "r"(bytes)
      : "memory");
}

__device__ __forceinline__ void commit_bulk() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until the sources of this thread's bulk groups have been read: shared memory may be reused. The data
/// may still be on its way: never release a ticket after this wait alone.
__device__ __forceinline__ void wait_bulk_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

/// Waits until this thread's bulk groups have landed in global memory.
__device__ __forceinline__ void wait_bulk_landed() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

__device__ __forceinline__ void prefetch(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

}  // namespace dashlab::gpu::ptx
