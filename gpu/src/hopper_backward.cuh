// The Hopper backward kernel: one producer warp, two dQ writer warps, two matrix warpgroups. dK and dV stay
// in registers through a chain; dQ goes out by ranks. Bits: docs/numerics.md; order of work: docs/gpu.md.
#pragma once

#include "hopper_copies.cuh"
#include "hopper_tile.cuh"

namespace dashlab::gpu {

/// A matrix thread through all chains of its CTA: five products a step.
template <class Config>
struct Matrix : TileMath<Config> {
  using Tile = TileMath<Config>;
  using Tile::arrive_as_warp, Tile::differences, Tile::dq_registers, Tile::extend, Tile::head_dim, Tile::lane,
      Tile::mask, Tile::out_registers, Tile::params, Tile::probabilities, Tile::score_registers, Tile::scores,
      Tile::store_ds, Tile::thread, Tile::tile_q, Tile::warp, Tile::warpgroup;
  using typename Tile::Input;

  HopperShared<Config>& shared;

  /// One accumulator as 16-bit rows of a [batch, seqlen_k, kv_heads, head_dim] tensor, times scale for dK.
  template <bool scaled>
  __device__ __forceinline__ void write_rows(const float (&d)[out_registers], std::uint16_t* tensor,
                                             const ChainInfo& chain, int place) const {
    const int key =
        static_cast<int>(chain.start.kv_tile) * Config::tile_kv + place / 32 * 16 + place % 32 / 4;
    const std::size_t batch = chain.kv_head / params.kv_heads;
    const std::size_t head = chain.kv_head % params.kv_heads;
    const int t = place % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = key + 8 * half;
      std::uint16_t* line =
          tensor + ((batch * static_cast<std::size_t>(params.seqlen_k) + static_cast<std::size_t>(row)) *
                        params.kv_heads +
                    head) *
                       head_dim;
#pragma unroll
      for (int group = 0; group < head_dim / 32; ++group) {
        std::uint32_t w[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int r = (4 * group + j) * 4 + 2 * half;
          if constexpr (scaled)
            w[j] = Input::pack(ptx::mul_ftz(d[r], params.scale), ptx::mul_ftz(d[r + 1], params.scale));
          else
            w[j] = Input::pack(d[r], d[r + 1]);
        }
        // Four lanes hold eight columns each of four pieces; after the exchange each holds one piece whole.
        const bool odd = (t & 1) != 0;
        const bool high = (t & 2) != 0;
        std::uint32_t x = __shfl_xor_sync(0xffffffffU, odd ? w[0] : w[1], 1);
        std::uint32_t y = __shfl_xor_sync(0xffffffffU, odd ? w[2] : w[3], 1);
        (odd ? w[0] : w[1]) = x;
        (odd ? w[2] : w[3]) = y;
        x = __shfl_xor_sync(0xffffffffU, high ? w[0] : w[2], 2);
        y = __shfl_xor_sync(0xffffffffU, high ? w[1] : w[3], 2);
        (high ? w[0] : w[2]) = x;
        (high ? w[1] : w[3]) = y;
        if (row < params.seqlen_k)
          *reinterpret_cast<uint4*>(line + 32 * group + 8 * t) = make_uint4(w[0], w[1], w[2], w[3]);
      }
    }
  }

  /// Grouped queries, one chain per q head: adds this chain's part to the sum in its place of the order; `d`
  /// then holds the sum so far.
  __device__ __forceinline__ void add_to_group(float (&d)[out_registers], float* sum, bool first, bool last,
                                               int place) const {
    auto* pieces = reinterpret_cast<float4*>(sum) + place / 128 * (out_registers / 4) * 128 + place % 128;
#pragma unroll
    for (int i = 0; i < out_registers / 4; ++i) {
      float4 old = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
      if (!first) old = __ldcg(pieces + i * 128);
      d[4 * i] = __fadd_rn(old.x, d[4 * i]);
      d[4 * i + 1] = __fadd_rn(old.y, d[4 * i + 1]);
      d[4 * i + 2] = __fadd_rn(old.z, d[4 * i + 2]);
      d[4 * i + 3] = __fadd_rn(old.w, d[4 * i + 3]);
      if (!last) __stcg(pieces + i * 128, make_float4(d[4 * i], d[4 * i + 1], d[4 * i + 2], d[4 * i + 3]));
    }
  }

  __device__ __forceinline__ void finish_chain(float (&dk)[out_registers], float (&dv)[out_registers]) const {
    const ChainInfo info = shared.chain;
    int place = thread;
    asm volatile("" : "+r"(place));  // or all addresses below are computed before the loop and kept
    bool last = true;
    if (info.group_count > 1) {
      const std::size_t slot = static_cast<std::size_t>(info.kv_head) * params.kv_tiles + info.start.kv_tile;
      std::uint32_t* ticket = params.schedule.group_tickets + slot;
      float* sums = params.group_accumulator + slot * (2 * Config::tile_kv * head_dim);
      const bool first = info.group_rank == 0;
      last = info.group_rank + 1 == info.group_count;
      if (thread == 0)
        wait_for_ticket(params.schedule, ticket, info.group_rank, {info.q_head, 0, info.start.kv_tile, 1});
      ptx::named_barrier(2, Config::matrix_threads);
      arrive_as_warp(shared.kv_empty);  // only now may the CTA take another chain
      add_to_group(dk, sums, first, last, place);
      add_to_group(dv, sums + Config::tile_kv * head_dim, first, last, place);
      __threadfence();
      ptx::named_barrier(2, Config::matrix_threads);
      if (thread == 0) ptx::add_release(ticket, 1);
    } else {
      arrive_as_warp(shared.kv_empty);
    }
    if (last) {
      write_rows<true>(dk, params.dk, info, place);
      write_rows<false>(dv, params.dv, info, place);
    }
  }

  __device__ void run() const {
    std::uint32_t kv_parity = 0;
    std::uint32_t tile = 0;  // steps so far
    while (true) {
      ptx::wait(shared.kv_full, kv_parity);
      kv_parity ^= 1;
      const ChainStart chain = shared.chain.start;
      if (chain.index == params.schedule.chain_count) return;
      float dk[out_registers];
      float dv[out_registers];
#pragma unroll
      for (int i = 0; i < out_registers; ++i) dk[i] = dv[i] = 0.0F;
      if (chain.step_count > 0) {
        float s[score_registers];
        float dp[score_registers];
        if constexpr (Config::next_scores == NextScores::after_dq) {
          start_s(s, tile);
          start_dp(dp, tile);
          for (std::uint32_t i = 1; i < chain.step_count; ++i) step<true>(dk, dv, s, dp, chain, tile);
          step<false>(dk, dv, s, dp, chain, tile);
        } else {
          for (std::uint32_t i = 0; i < chain.step_count; ++i) step<false>(dk, dv, s, dp, chain, tile);
        }
      }
      finish_chain(dk, dv);
    }
  }

  /// Starts S^T = K Q^T of step `tile` as one group.
  __device__ __forceinline__ void start_s(float (&s)[score_registers], std::uint32_t tile) const {
    const std::uint32_t stage = ptx::slot_of<Config::stages>(tile);
    ptx::wait(shared.q_full[stage], ptx::parity_of<Config::stages>(tile));
    ptx::touch(s);
    ptx::wgmma_fence();
    scores(s, shared.k, shared.q[stage]);
    ptx::wgmma_commit();
  }

  /// Starts dP^T = V dO^T likewise.
  __device__ __forceinline__ void start_dp(float (&dp)[score_registers], std::uint32_t tile) const {
    const std::uint32_t stage = ptx::slot_of<Config::stages>(tile);
    ptx::wait(shared.dout_full[stage], ptx::parity_of<Config::stages>(tile));
    ptx::touch(dp);
    ptx::wgmma_fence();
    scores(dp, shared.v, shared.dout[stage]);
    ptx::wgmma_commit();
  }

  /// One tile. With NextScores::after_dq its S and dP were started by the step before, so that the tensor
  /// cores have work while the warps hand dQ over; `has_next`: another tile of the chain follows, start its S
  /// and dP likewise.
  template <bool has_next>
  __device__ __forceinline__ void step(float (&dk)[out_registers], float (&dv)[out_registers],
                                       float (&s)[score_registers], float (&dp)[score_registers],
                                       const ChainStart& chain, std::uint32_t& tile) const {
    const std::uint32_t stage = ptx::slot_of<Config::stages>(tile);
    constexpr bool next_now = has_next && Config::next_scores == NextScores::after_dq;
    if constexpr (Config::next_scores == NextScores::with_tile) {
      start_s(s, tile);
      start_dp(dp, tile);
    }
    const StageInfo info = shared.stage[stage];
    TaskTrace* trace =
        params.schedule.trace != nullptr && thread == 0 ? params.schedule.trace + info.step : nullptr;
    if (trace != nullptr) {
      trace->compute_start = static_cast<std::int64_t>(ptx::sm_clock());
      trace->sm = blockIdx.x;
      trace->chain = chain.index;
    }
    std::uint32_t p16[score_registers / 2];
    std::uint32_t ds16[score_registers / 2];
    ptx::wgmma_wait<1>();
    ptx::touch(s);
    if ((info.flags & DeviceStep::partial) != 0) mask(s, info.q_tile, chain.kv_tile);
    probabilities(s, shared.lse2[stage] + lane % 4 * 2);
    ptx::wgmma_wait<0>();
    ptx::touch(dp);
    differences(s, dp, shared.dpsum[stage] + lane % 4 * 2, p16, ds16);

    ptx::touch(dv);
    ptx::wgmma_fence();
    extend(dv, p16, shared.dout[stage]);
    ptx::wgmma_commit();

    void* ds_buffer = shared.ds[tile & 1U];
    if constexpr (Config::with_dq) {
      // Two dS buffers: whoever passes this barrier has finished the dQ product of the step before.
      store_ds(ds16, ds_buffer);
      ptx::fence_proxy_async_shared();
      ptx::named_barrier(1, Config::matrix_threads);
    }
    if constexpr (Config::wait_for_dv) {
      ptx::wgmma_wait<0>();  // frees the registers of p
      ptx::touch(dv);
      arrive_as_warp(shared.dout_empty[stage]);
    }

    float dq[dq_registers];
    ptx::touch(dq);
    ptx::touch(dk);
    ptx::wgmma_fence();
    if constexpr (Config::with_dq) {
      this->template dq_product<false>(dq, shared.k, ds_buffer);
      ptx::wgmma_commit();
    }
    extend(dk, ds16, shared.q[stage]);
    ptx::wgmma_commit();

    if constexpr (!Config::wait_for_dv) {
      ptx::wgmma_wait<Config::with_dq ? 2 : 1>();
      ptx::touch(dv);
      arrive_as_warp(shared.dout_empty[stage]);
    }
    if constexpr (Config::with_dq) {
      ptx::wgmma_wait<1>();
      ptx::touch(dq);
      write_dq_tile(dq, info.flags, tile);
    }
    ++tile;
    if constexpr (next_now) start_s(s, tile);
    ptx::wgmma_wait<next_now ? 1 : 0>();
    ptx::touch(dk);
    arrive_as_warp(shared.q_empty[stage]);
    if constexpr (next_now) start_dp(dp, tile);
    if (trace != nullptr) trace->compute_end = static_cast<std::int64_t>(ptx::sm_clock());
  }

  /// Hands this tile's dQ to its writer.
  __device__ __forceinline__ void write_dq_tile(float (&dq)[dq_registers], std::uint32_t flags,
                                                std::uint32_t tile) const {
    if ((flags & DeviceStep::first) != 0) {
#pragma unroll
      for (int i = 0; i < dq_registers; ++i) dq[i] = __fadd_rn(0.0F, dq[i]);  // as if added to zero: no -0
    }
    const std::uint32_t buffer = ptx::slot_of<Config::dq_buffers>(tile);
    ptx::wait(shared.dq_empty[buffer], ptx::parity_of<Config::dq_buffers>(tile) ^ 1U);
    this->store_dq(dq, shared.dq[buffer]);
    ptx::fence_proxy_async_shared();
    arrive_as_warp(shared.dq_full[tile & 1U]);
  }
};

template <class Config>
__global__ void __launch_bounds__(Config::threads, 1)
    hopper_backward(const __grid_constant__ HopperParams params) {
  extern __shared__ __align__(1024) std::byte memory[];
  auto& shared = *reinterpret_cast<HopperShared<Config>*>(memory);
  if (threadIdx.x == 0) {
    if ((ptx::shared_address(memory) & 1023U) != 0) __trap();
    constexpr int matrix_arrivals = Config::matrix_threads / 32 * arrivals_of_a_warp;
    ptx::init(shared.kv_full, 1);
    ptx::init(shared.kv_empty, matrix_arrivals + 2);
    for (int s = 0; s < Config::stages; ++s) {
      ptx::init(shared.q_full[s], 1);
      ptx::init(shared.q_empty[s], matrix_arrivals);
      ptx::init(shared.dout_full[s], 1);
      ptx::init(shared.dout_empty[s], matrix_arrivals);
    }
    for (int w = 0; w < 2; ++w) ptx::init(shared.dq_full[w], matrix_arrivals);
    for (int b = 0; b < Config::dq_buffers; ++b) ptx::init(shared.dq_empty[b], 1);
    ptx::fence_init();
    record_clock(params.schedule, false);
  }
  __syncthreads();

  // The compiler must see that the role is uniform in a warp.
  const int warpgroup = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / 128, 0);
  if (warpgroup == 0) {
    ptx::set_registers_down<24>();
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) {
      if (warp == 0) {
        Producer<Config>{shared, params}.run();
        record_clock(params.schedule, true);
      } else if (warp < 3) {
        write_dq<Config>(shared, params, static_cast<std::uint32_t>(warp - 1));
      }
    }
  } else {
    ptx::set_registers_up<240>();
    const int thread = static_cast<int>(threadIdx.x) - Config::producer_threads;
    Matrix<Config>{{params, thread, warpgroup - 1, thread % 32, thread % 128 / 32}, shared}.run();
  }
}

}  // namespace dashlab::gpu
