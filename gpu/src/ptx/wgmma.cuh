// The warpgroup matrix instruction wgmma.m64nNk16, f32 accumulate, and the shared-memory descriptors it reads
// (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"). N is twice the accumulator's length per
// thread.
#pragma once

#include <cstdint>

#include "arithmetic.cuh"
#include "memory.cuh"

namespace dashlab::gpu::ptx {

/// Where the reduction index lies: k_major if consecutive k are neighbours in memory, mn_major if consecutive
/// rows (of A) or columns (of B) are.
enum class Major : int { k_major = 0, mn_major = 1 };

/// Descriptor of an operand in 128-byte swizzled layout: rows of 64 16-bit elements, 8 rows an atom of 1024
/// bytes, atoms one after another. `block_stride` is the distance in bytes between blocks of 64 columns, used
/// when an mn_major operand is wider than one block. Only the low word varies; advance it by bytes with
/// `operator+`.
struct Descriptor {
  std::uint32_t low;

  __device__ __forceinline__ Descriptor(std::uint32_t address, std::uint32_t block_stride)
      : low(((address & 0x3ffffU) >> 4) | ((block_stride >> 4) << 16)) {}
  __device__ __forceinline__ Descriptor operator+(std::uint32_t bytes) const {
    Descriptor moved = *this;
    moved.low += bytes >> 4;
    return moved;
  }
  __device__ __forceinline__ std::uint64_t bits() const {
    constexpr std::uint64_t atom_stride = 1024 >> 4;
    constexpr std::uint64_t swizzle_128 = 1ULL << 62;
    return swizzle_128 | (atom_stride << 32) | low;
  }
};

/// Orders register and shared-memory accesses before the next wgmma.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most `pending` of the youngest groups are still running.
template <int pending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/// Tells the compiler that the registers change here, so that no use of them moves above a wait.
template <int count>
__device__ __forceinline__ void touch(float (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}

// clang-format off
#define DASHLAB_REGS_32 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"
#define DASHLAB_REGS_40 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39}"
#define DASHLAB_REGS_64 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}"
#define DASHLAB_OPS_8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define DASHLAB_OPS_32(d) DASHLAB_OPS_8(d, 0), DASHLAB_OPS_8(d, 8), DASHLAB_OPS_8(d, 16), DASHLAB_OPS_8(d, 24)
#define DASHLAB_OPS_40(d) DASHLAB_OPS_32(d), DASHLAB_OPS_8(d, 32)
#define DASHLAB_OPS_64(d) DASHLAB_OPS_40(d), DASHLAB_OPS_8(d, 40), DASHLAB_OPS_8(d, 48), DASHLAB_OPS_8(d, 56)

// One overload per N: A and B from shared memory (mma), A from registers (mma_registers).
#define DASHLAB_WGMMA(N, COUNT, D0, D1, D2, D3, D4, D5, D6)                                                            \
  template <class Input, Major major_a, Major major_b>                                                                 \
  __device__ __forceinline__ void mma(float (&d)[COUNT], Descriptor a, Descriptor b, bool accumulate) {                \
    const int keep = accumulate ? 1 : 0;                                                                               \
    if constexpr (Input::is_bf16)                                                                                      \
      asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %" D2 ", 0;\n\t"                                             \
                   "wgmma.mma_async.sync.aligned.m64n" N "k16.f32.bf16.bf16 " DASHLAB_REGS_##COUNT ", %" D0 ", %" D1   \
                   ", p, 1, 1, %" D3 ", %" D4 ";\n\t}"                                                                 \
                   : DASHLAB_OPS_##COUNT(d)                                                                            \
                   : "l"(a.bits()), "l"(b.bits()), "r"(keep), "n"(static_cast<int>(major_a)), "n"(static_cast<int>(major_b)));       \
    else                                                                                                               \
      asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %" D2 ", 0;\n\t"                                             \
                   "wgmma.mma_async.sync.aligned.m64n" N "k16.f32.f16.f16 " DASHLAB_REGS_##COUNT ", %" D0 ", %" D1     \
                   ", p, 1, 1, %" D3 ", %" D4 ";\n\t}"                                                                 \
                   : DASHLAB_OPS_##COUNT(d)                                                                            \
                   : "l"(a.bits()), "l"(b.bits()), "r"(keep), "n"(static_cast<int>(major_a)), "n"(static_cast<int>(major_b)));       \
  }                                                                                                                    \
  template <class Input, Major major_b>                                                                                \
  __device__ __forceinline__ void mma_registers(float (&d)[COUNT], const std::uint32_t* a, Descriptor b) {             \
    if constexpr (Input::is_bf16)                                                                                      \
      asm volatile("wgmma.mma_async.sync.aligned.m64n" N "k16.f32.bf16.bf16 " DASHLAB_REGS_##COUNT ", {%" D0 ",%" D1   \
                   ",%" D2 ",%" D3 "}, %" D4 ", 1, 1, 1, %" D5 ";"                                                     \
                   : DASHLAB_OPS_##COUNT(d)                                                                            \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits()), "n"(static_cast<int>(major_b)));              \
    else                                                                                                               \
      asm volatile("wgmma.mma_async.sync.aligned.m64n" N "k16.f32.f16.f16 " DASHLAB_REGS_##COUNT ", {%" D0 ",%" D1     \
                   ",%" D2 ",%" D3 "}, %" D4 ", 1, 1, 1, %" D5 ";"                                                     \
                   : DASHLAB_OPS_##COUNT(d)                                                                            \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits()), "n"(static_cast<int>(major_b)));              \
  }

DASHLAB_WGMMA("64", 32, "32", "33", "34", "35", "36", "37", "38")
DASHLAB_WGMMA("80", 40, "40", "41", "42", "43", "44", "45", "46")
DASHLAB_WGMMA("128", 64, "64", "65", "66", "67", "68", "69", "70")
#undef DASHLAB_WGMMA
// clang-format on

/// Stores four 8x8 matrices of 16-bit elements, each transposed; lane l gives the address of row l % 8 of
/// matrix l / 8.
__device__ __forceinline__ void store_matrices_transposed(std::uint32_t address, std::uint32_t m0,
                                                          std::uint32_t m1, std::uint32_t m2,
                                                          std::uint32_t m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(m0), "r"(m1), "r"(m2), "r"(m3)
               : "memory");
}

/// Registers per thread for the rest of this warpgroup's life.
template <int count>
__device__ __forceinline__ void set_registers_down() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ __forceinline__ void set_registers_up() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

}  // namespace dashlab::gpu::ptx
