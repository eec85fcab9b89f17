// The tile operations of the matrix warpgroups: five products, and what happens to scores between them. The
// order of every chain is decided here (docs/numerics.md, section 4).
#pragma once

#include "hopper_layout.cuh"
#include "ptx/wgmma.cuh"

namespace dashlab::gpu {

/// One matrix thread's view of a tile.
template <class Config>
struct TileMath {
  using Input = typename Config::Input;
  static constexpr int tile_q = Config::tile_q;
  static constexpr int head_dim = Config::head_dim;
  static constexpr int score_registers = tile_q / 2;
  static constexpr int out_registers = head_dim / 2;
  static constexpr int dq_registers = Config::dq_registers;
  static constexpr std::uint32_t q_block_bytes = tile_q * 128;
  static constexpr std::uint32_t kv_block_bytes = Config::tile_kv * 128;

  const HopperParams& params;
  const int thread;     ///< 0..255 among the matrix threads
  const int warpgroup;  ///< owns kv rows 64 * warpgroup .. + 63
  const int lane;
  const int warp;  ///< in the warpgroup

  /// S^T or dP^T of this warpgroup's kv rows: a chain over head_dim from +0.
  __device__ __forceinline__ void scores(float (&d)[score_registers], const void* kv,
                                         const void* rows) const {
    const ptx::Descriptor a(ptx::shared_address(kv) + static_cast<std::uint32_t>(warpgroup) * (64 * 128), 0);
    const ptx::Descriptor b(ptx::shared_address(rows), 0);
#pragma unroll
    for (int k = 0; k < head_dim / 16; ++k)
      ptx::mma<Input, ptx::Major::k_major, ptx::Major::k_major>(
          d, a + ((k / 4) * kv_block_bytes + (k % 4) * 32), b + ((k / 4) * q_block_bytes + (k % 4) * 32),
          k > 0);
  }

  /// dV += P^T dO or dK += dS^T Q: the chain over q rows goes on; the left operand comes from registers.
  __device__ __forceinline__ void extend(float (&d)[out_registers],
                                         const std::uint32_t (&left)[score_registers / 2],
                                         const void* rows) const {
    const ptx::Descriptor b(ptx::shared_address(rows), q_block_bytes);
#pragma unroll
    for (int k = 0; k < tile_q / 16; ++k)
      ptx::mma_registers<Input, ptx::Major::mn_major>(d, left + 4 * k, b + k * 2048);
  }

  /// dQ^T (+)= K^T dS^T of this tile: a chain over all its kv columns, from +0 or going on. The warpgroups
  /// split the head dim (128) or the q rows (64), never the chain.
  template <bool going_on>
  __device__ __forceinline__ void dq_product(float (&d)[dq_registers], const void* k_tile,
                                             const void* ds) const {
    const auto half = static_cast<std::uint32_t>(warpgroup);
    const ptx::Descriptor a(ptx::shared_address(k_tile) + (head_dim == 128 ? half * kv_block_bytes : 0),
                            kv_block_bytes);
    const ptx::Descriptor b(ptx::shared_address(ds) + (head_dim == 128 ? 0 : half * (q_block_bytes / 2)), 0);
#pragma unroll
    for (int k = 0; k < Config::tile_kv / 16; ++k)
      ptx::mma<Input, ptx::Major::mn_major, ptx::Major::k_major>(
          d, a + k * 2048, b + ((k / 4) * q_block_bytes + (k % 4) * 32), going_on || k > 0);
  }

  /// Scores outside a row's keys become -inf.
  __device__ __forceinline__ void mask(float (&s)[score_registers], std::uint32_t q_tile,
                                       std::uint32_t kv_tile) const {
    const int key = static_cast<int>(kv_tile) * Config::tile_kv + 64 * warpgroup + 16 * warp + lane / 4;
    const auto* ranges = params.key_ranges + static_cast<std::size_t>(q_tile) * tile_q + lane % 4 * 2;
    const float out = __int_as_float(static_cast<int>(0xff800000U));
#pragma unroll
    for (int j = 0; j < tile_q / 8; ++j) {
      const int4 two = __ldg(reinterpret_cast<const int4*>(ranges + 8 * j));
      if (key < two.x || key >= two.y) s[4 * j] = out;
      if (key < two.z || key >= two.w) s[4 * j + 1] = out;
      if (key + 8 < two.x || key + 8 >= two.y) s[4 * j + 2] = out;
      if (key + 8 < two.z || key + 8 >= two.w) s[4 * j + 3] = out;
    }
  }

  /// dS^T fragments to shared memory as dS: rows q, columns kv.
  __device__ __forceinline__ void store_ds(const std::uint32_t (&ds)[score_registers / 2],
                                           void* buffer) const {
    const int matrix = lane / 8;
    const std::uint32_t row = lane % 8;
    const std::uint32_t chunk = static_cast<std::uint32_t>(2 * warp + (matrix & 1));
    const std::uint32_t base =
        ptx::shared_address(buffer) + static_cast<std::uint32_t>(warpgroup) * q_block_bytes +
        (static_cast<std::uint32_t>(matrix >> 1) * 8 + row) * 128 + ((chunk ^ row) << 4);
#pragma unroll
    for (int k = 0; k < tile_q / 16; ++k)
      ptx::store_matrices_transposed(base + k * 2048, ds[4 * k], ds[4 * k + 1], ds[4 * k + 2], ds[4 * k + 3]);
  }

  __device__ __forceinline__ void arrive_as_warp(ptx::Mbarrier& barrier) const {
    __syncwarp();
    if (lane < arrivals_of_a_warp) ptx::arrive(barrier);
  }

  /// p = exp2(s * scale_log2 - lse2), in place.
  __device__ __forceinline__ void probabilities(float (&s)[score_registers], const float* lse2) const {
#pragma unroll
    for (int j = 0; j < tile_q / 8; ++j) {
      const float2 two = *reinterpret_cast<const float2*>(lse2 + 8 * j);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float bias = (i & 1) != 0 ? two.y : two.x;
        s[4 * j + i] = ptx::exp2_approx_ftz(ptx::fma_ftz(s[4 * j + i], params.scale_log2, -bias));
      }
    }
  }

  /// dS = p (dP - dpsum); p and dS rounded to the input type.
  __device__ __forceinline__ void differences(const float (&p)[score_registers],
                                              const float (&dp)[score_registers], const float* dpsum,
                                              std::uint32_t (&p16)[score_registers / 2],
                                              std::uint32_t (&ds16)[score_registers / 2]) const {
#pragma unroll
    for (int j = 0; j < tile_q / 8; ++j) {
      const float2 two = *reinterpret_cast<const float2*>(dpsum + 8 * j);
      float ds[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        ds[i] = ptx::mul_ftz(p[4 * j + i], ptx::sub_ftz(dp[4 * j + i], (i & 1) != 0 ? two.y : two.x));
      p16[2 * j] = Input::pack(p[4 * j], p[4 * j + 1]);
      p16[2 * j + 1] = Input::pack(p[4 * j + 2], p[4 * j + 3]);
      ds16[2 * j] = Input::pack(ds[0], ds[1]);
      ds16[2 * j + 1] = Input::pack(ds[2], ds[3]);
    }
  }

  /// This thread's 16-byte pieces of a dQ tile in the order of dq_place.
  __device__ __forceinline__ void store_dq(const float (&dq)[dq_registers], float* tile) const {
    auto* pieces = reinterpret_cast<float4*>(tile) + warpgroup * (dq_registers / 4) * 128 + thread % 128;
#pragma unroll
    for (int i = 0; i < dq_registers / 4; ++i)
      pieces[i * 128] = make_float4(dq[4 * i], dq[4 * i + 1], dq[4 * i + 2], dq[4 * i + 3]);
  }
};

}  // namespace dashlab::gpu
