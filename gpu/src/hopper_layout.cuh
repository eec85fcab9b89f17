// Shapes and shared memory of the Hopper backward kernel, and the order in which a dQ tile lies in its
// accumulator.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "device_types.hpp"
#include "ptx/mbarrier.cuh"

namespace dashlab::gpu {

/// When the scores S of the next tile start: with the next tile, or as soon as this tile's dQ has left the
/// registers.
enum class NextScores : int { with_tile, after_dq };

/// The choices behind one compiled kernel. tile_kv is 128: two matrix warpgroups of 64 kv rows each. What the
/// registers (240 a thread) and 227 KB of shared memory leave room for was measured: docs/performance.md.
/// `with_dq_`: false where dQ has a pass of its own.
template <class Input_, int head_dim_, int tile_q_, bool with_dq_ = true>
struct HopperConfig {
  using Input = Input_;
  static constexpr int head_dim = head_dim_;
  static constexpr int tile_q = tile_q_;
  static constexpr int tile_kv = 128;
  static constexpr bool with_dq = with_dq_;
  static constexpr int stages = 2;                          ///< of Q and dO
  static constexpr int dq_buffers = tile_q_ == 80 ? 1 : 2;  ///< dQ tiles on their way out
  static constexpr NextScores next_scores = head_dim_ == 64 ? NextScores::after_dq : NextScores::with_tile;
  static constexpr bool wait_for_dv = head_dim_ == 128;  ///< before dQ and dK start: frees the registers of p
  static constexpr int blocks = head_dim / 64;           ///< 128-byte-wide blocks of a row
  static constexpr int dq_registers = tile_q * head_dim / 256;
  static constexpr int producer_threads = 128;
  static constexpr int matrix_threads = 256;
  static constexpr int threads = producer_threads + matrix_threads;
  static constexpr std::uint32_t kv_bytes = tile_kv * head_dim * 2;
  static constexpr std::uint32_t q_bytes = tile_q * head_dim * 2;
  static constexpr std::uint32_t row_bytes = tile_q * 4;
  static constexpr std::uint32_t dq_bytes = tile_q * head_dim * 4;
  static_assert(head_dim % 64 == 0 && tile_q % 16 == 0);
};

/// What the producer tells the matrix warps about a stage.
struct StageInfo {
  std::uint32_t q_tile, flags, step, unused;
};

/// How many lanes of a matrix warp arrive on a barrier: one, after __syncwarp(). compute-sanitizer's
/// racecheck does not follow that, so docs/validation.md uses a build in which every lane arrives.
#ifdef DASHLAB_EVERY_LANE_ARRIVES
inline constexpr int arrivals_of_a_warp = 32;
#else
inline constexpr int arrivals_of_a_warp = 1;
#endif

/// What every step of a chain needs; `index` == chain_count ends the kernel.
struct ChainStart {
  std::uint32_t index, step_count, kv_tile;
};

/// The chain in progress.
struct ChainInfo {
  ChainStart start;
  std::uint32_t kv_head, group_rank, group_count, q_head;
};

/// Shared memory. 16-bit tiles are blocks of 64 columns, each row 128 bytes, swizzled by 128 bytes.
template <class Config>
struct alignas(1024) HopperShared {
  using Block16 = std::uint16_t[64];
  Block16 k[Config::blocks][Config::tile_kv];
  Block16 v[Config::blocks][Config::tile_kv];
  Block16 q[Config::stages][Config::blocks][Config::tile_q];
  Block16 dout[Config::stages][Config::blocks][Config::tile_q];
  Block16 ds[2][2][Config::tile_q];  ///< [buffer][half of the kv tile][q row]: dS, k of dQ = dS K contiguous
  float dq[Config::dq_buffers][Config::tile_q * Config::head_dim];
  float lse2[Config::stages][Config::tile_q];
  float dpsum[Config::stages][Config::tile_q];
  StageInfo stage[Config::stages];
  ChainInfo chain;
  ptx::Mbarrier kv_full, kv_empty;
  ptx::Mbarrier q_full[Config::stages], q_empty[Config::stages];
  ptx::Mbarrier dout_full[Config::stages], dout_empty[Config::stages];
  ptx::Mbarrier dq_full[2];  ///< one per writer
  ptx::Mbarrier dq_empty[Config::dq_buffers];
};

struct HopperParams {
  CUtensorMap q, k, v, dout;
  ScheduleView schedule;
  const float* lse2 = nullptr;  ///< [head * q_tiles + q_tile][tile_q]
  const float* dpsum = nullptr;
  const DeviceKeyRange* key_ranges = nullptr;  ///< [q_tiles * tile_q]
  float* dq_accumulator = nullptr;             ///< [row][tile_q * head_dim] in the order of dq_place
  float* group_accumulator = nullptr;  ///< [kv_head * kv_tiles + kv_tile][2][tile_kv * head_dim]: dK, dV
  std::uint16_t* dk = nullptr;         ///< [batch, seqlen_k, kv_heads, head_dim]
  std::uint16_t* dv = nullptr;
  std::uint32_t heads = 1, kv_heads = 1, kv_tiles = 1;
  std::int32_t seqlen_k = 0;
  float scale = 1.0F, scale_log2 = 1.0F;
};

/// Where register 4 * group + i of matrix thread `thread` (0..255) lies in a dQ tile: as it comes out of
/// dQ^T = K^T dS^T, so that the writers move whole 16-byte pieces and no bank is hit twice.
struct DqPlace {
  int q, d;
};
template <int head_dim, int tile_q>
__host__ __device__ constexpr DqPlace dq_place(int thread, int group, int i) {
  const int warpgroup = thread / 128;
  const int row = thread % 128 / 32 * 16 + thread % 32 / 4 + (i >= 2 ? 8 : 0);
  const int column = 8 * group + thread % 4 * 2 + (i & 1);
  if (head_dim == 128) return {column, 64 * warpgroup + row};
  return {tile_q / 2 * warpgroup + column, row};
}

}  // namespace dashlab::gpu
