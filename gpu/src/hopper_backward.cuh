// The Hopper backward kernel: one producer warp, two dQ writer warps, two matrix warpgroups. dK and dV stay in
// registers through a chain; dQ goes out by ranks. Bits: docs/numerics.md; order of work: docs/gpu.md.
#pragma once

#include "hopper_layout.cuh"
#include "ptx/bulk.cuh"
#include "ptx/wgmma.cuh"
#include "ticket.cuh"

namespace dashlab::gpu {

// ---- Producer: the schedule's steps become tiles in shared memory ----

template <class Config>
struct Producer {
  HopperShared<Config>& shared;
  const HopperParams& params;
  ptx::Ring q{}, dout{};

  __device__ void load_step(std::uint64_t index) {
    const DeviceStep step = params.schedule.steps[index];
    perturb(params.schedule, index * 2);
    const auto row = static_cast<std::int32_t>(step.q_tile * Config::tile_q);
    const auto batch = static_cast<std::int32_t>(step.head / params.heads);
    const auto head = static_cast<std::int32_t>(step.head % params.heads);
    const std::size_t offset = static_cast<std::size_t>(step.row) * Config::tile_q;

    ptx::wait(shared.q_empty[q.stage], q.parity ^ 1);
    shared.stage[q.stage] = {step.q_tile, step.rank_and_flags & 3U, static_cast<std::uint32_t>(index), 0};
    ptx::arrive_expect_tx(shared.q_full[q.stage], Config::q_bytes + Config::row_bytes);
    for (int b = 0; b < Config::blocks; ++b)
      ptx::copy_tensor(shared.q[q.stage][b], params.q, 64 * b, head, row, batch, shared.q_full[q.stage]);
    ptx::copy_bulk(shared.lse2[q.stage], params.lse2 + offset, Config::row_bytes, shared.q_full[q.stage]);
    q.advance<Config::q_stages>();

    ptx::wait(shared.dout_empty[dout.stage], dout.parity ^ 1);
    ptx::arrive_expect_tx(shared.dout_full[dout.stage], Config::q_bytes + Config::row_bytes);
    for (int b = 0; b < Config::blocks; ++b)
      ptx::copy_tensor(shared.dout[dout.stage][b], params.dout, 64 * b, head, row, batch, shared.dout_full[dout.stage]);
    ptx::copy_bulk(shared.dpsum[dout.stage], params.dpsum + offset, Config::row_bytes, shared.dout_full[dout.stage]);
    dout.advance<Config::dout_stages>();
  }

  __device__ void load_kv(const DeviceChain& chain) {
    const auto batch = static_cast<std::int32_t>(chain.kv_head / params.kv_heads);
    const auto head = static_cast<std::int32_t>(chain.kv_head % params.kv_heads);
    const auto row = static_cast<std::int32_t>(chain.kv_tile * Config::tile_kv);
    ptx::arrive_expect_tx(shared.kv_full, 2 * Config::kv_bytes);
    for (int b = 0; b < Config::blocks; ++b)
      ptx::copy_tensor(shared.k[b], params.k, 64 * b, head, row, batch, shared.kv_full);
    for (int b = 0; b < Config::blocks; ++b)
      ptx::copy_tensor(shared.v[b], params.v, 64 * b, head, row, batch, shared.kv_full);
  }

  __device__ void run() {
    std::uint32_t position = 0;
    std::uint32_t parity = 1;
    while (true) {
      const std::uint32_t index = next_chain(params.schedule, position);
      const bool end = index == params.schedule.chain_count;
      DeviceChain chain{};
      if (!end) chain = params.schedule.chains[index];
      // The first Q and dO travel while the chain before still uses its K and V.
      if (chain.step_count > 0) load_step(chain.step_begin);
      ptx::wait(shared.kv_empty, parity);
      parity ^= 1;
      shared.chain = {chain.step_begin, index, chain.step_count, chain.kv_tile, chain.kv_head};
      if (end) {
        ptx::arrive(shared.kv_full);
        return;
      }
      load_kv(chain);
      for (std::uint32_t i = 1; i < chain.step_count; ++i) load_step(chain.step_begin + i);
    }
  }
};

// ---- dQ writers: two warps that alternate tiles, one thread each ----

template <class Config>
__device__ void write_dq(HopperShared<Config>& shared, const HopperParams& params, std::uint32_t writer) {
  const ScheduleView& schedule = params.schedule;
  std::uint32_t kv_parity = 0;
  std::uint32_t full_parity = 0;
  std::uint32_t tile = 0;
  while (true) {
    ptx::wait(shared.kv_full, kv_parity);
    kv_parity ^= 1;
    const ChainInfo chain = shared.chain;
    ptx::arrive(shared.kv_empty);
    if (chain.index == schedule.chain_count) return;
    for (std::uint32_t i = 0; i < chain.step_count; ++i, ++tile) {
      if ((tile & 1U) != writer) continue;
      const std::uint64_t index = chain.step_begin + i;
      const DeviceStep step = schedule.steps[index];
      perturb(schedule, index * 2 + 1);
      std::uint32_t* ticket = schedule.tickets + step.row;
      // The ticket is polled while the tile is still being computed.
      if (schedule.ordered) wait_for_ticket(schedule, ticket, step.rank(), {step.head, step.q_tile, chain.kv_tile, 0});
      const std::uint32_t buffer = Config::dq_buffers == 1 ? 0 : writer;
      ptx::wait(shared.dq_full[writer], full_parity);
      full_parity ^= 1;
      if (schedule.trace != nullptr) schedule.trace[index].reduce_start = static_cast<std::int64_t>(ptx::sm_clock());
      ptx::fence_proxy_async_global();
      float* destination = params.dq_accumulator + static_cast<std::size_t>(step.row) * (Config::tile_q * Config::head_dim);
      if ((step.rank_and_flags & DeviceStep::first) != 0)
        ptx::store_bulk(destination, shared.dq[buffer], Config::dq_bytes);
      else
        ptx::reduce_add_bulk(destination, shared.dq[buffer], Config::dq_bytes);
      ptx::commit_bulk();
      ptx::wait_bulk_read();
      ptx::arrive(shared.dq_empty[buffer]);
      ptx::wait_bulk_landed();
      if (schedule.ordered) {
        ptx::fence_proxy_async_global();
        ptx::add_release(ticket, 1);
      }
      if (schedule.trace != nullptr) schedule.trace[index].reduce_end = static_cast<std::int64_t>(ptx::sm_clock());
    }
  }
}

// ---- Matrix warpgroups: five products a step ----

template <class Config>
struct Matrix {
  using Input = typename Config::Input;
  static constexpr int tile_q = Config::tile_q;
  static constexpr int head_dim = Config::head_dim;
  static constexpr int score_registers = tile_q / 2;
  static constexpr int out_registers = head_dim / 2;
  static constexpr int dq_registers = Config::dq_registers;
  static constexpr std::uint32_t q_block_bytes = tile_q * 128;
  static constexpr std::uint32_t kv_block_bytes = Config::tile_kv * 128;

  HopperShared<Config>& shared;
  const HopperParams& params;
  const int thread;     ///< 0..255 among the matrix threads
  const int warpgroup;  ///< owns kv rows 64 * warpgroup .. + 63
  const int lane;
  const int warp;       ///< in the warpgroup

  /// S^T or dP^T of this warpgroup's kv rows: a chain over head_dim from +0.
  __device__ __forceinline__ void scores(float (&d)[score_registers], const void* kv, const void* rows) const {
    const ptx::Descriptor a(ptx::shared_address(kv) + static_cast<std::uint32_t>(warpgroup) * (64 * 128), 0);
    const ptx::Descriptor b(ptx::shared_address(rows), 0);
#pragma unroll
    for (int k = 0; k < head_dim / 16; ++k)
      ptx::mma<Input, ptx::Major::k_major, ptx::Major::k_major>(
          d, a + ((k / 4) * kv_block_bytes + (k % 4) * 32), b + ((k / 4) * q_block_bytes + (k % 4) * 32), k > 0);
  }

  /// dV += P^T dO or dK += dS^T Q: the chain over q rows goes on; the left operand comes from registers.
  __device__ __forceinline__ void extend(float (&d)[out_registers], const std::uint32_t (&left)[score_registers / 2],
                                         const void* rows) const {
    const ptx::Descriptor b(ptx::shared_address(rows), q_block_bytes);
#pragma unroll
    for (int k = 0; k < tile_q / 16; ++k)
      ptx::mma_registers<Input, ptx::Major::mn_major>(d, left + 4 * k, b + k * 2048);
  }

  /// dQ^T = K^T dS^T of this tile: a chain over all its kv columns from +0. The warpgroups split the head dim
  /// (128) or the q rows (64), never the chain.
  __device__ __forceinline__ void dq_partial(float (&d)[dq_registers], const void* ds) const {
    const auto half = static_cast<std::uint32_t>(warpgroup);
    const ptx::Descriptor a(ptx::shared_address(shared.k) + (head_dim == 128 ? half * kv_block_bytes : 0), kv_block_bytes);
    const ptx::Descriptor b(ptx::shared_address(ds) + (head_dim == 128 ? 0 : half * (q_block_bytes / 2)), 0);
#pragma unroll
    for (int k = 0; k < Config::tile_kv / 16; ++k)
      ptx::mma<Input, ptx::Major::mn_major, ptx::Major::k_major>(
          d, a + k * 2048, b + ((k / 4) * q_block_bytes + (k % 4) * 32), k > 0);
  }

  /// Scores outside a row's keys become -inf.
  __device__ __forceinline__ void mask(float (&s)[score_registers], std::uint32_t q_tile, std::uint32_t kv_tile) const {
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
  __device__ __forceinline__ void store_ds(const std::uint32_t (&ds)[score_registers / 2], void* buffer) const {
    const int matrix = lane / 8;
    const std::uint32_t row = lane % 8;
    const std::uint32_t chunk = static_cast<std::uint32_t>(2 * warp + (matrix & 1));
    const std::uint32_t base = ptx::shared_address(buffer) + static_cast<std::uint32_t>(warpgroup) * q_block_bytes +
                               (static_cast<std::uint32_t>(matrix >> 1) * 8 + row) * 128 + ((chunk ^ row) << 4);
#pragma unroll
    for (int k = 0; k < tile_q / 16; ++k)
      ptx::store_matrices_transposed(base + k * 2048, ds[4 * k], ds[4 * k + 1], ds[4 * k + 2], ds[4 * k + 3]);
  }

  __device__ __forceinline__ void arrive_as_warp(ptx::Mbarrier& barrier) const {
    __syncwarp();
    if (lane == 0) ptx::arrive(barrier);
  }

  /// One accumulator as 16-bit rows of a [batch, seqlen_k, kv_heads, head_dim] tensor, times scale for dK.
  template <bool scaled>
  __device__ __forceinline__ void write_rows(const float (&d)[out_registers], std::uint16_t* tensor,
                                             const ChainInfo& chain, int place) const {
    const int key = static_cast<int>(chain.kv_tile) * Config::tile_kv + place / 32 * 16 + place % 32 / 4;
    const std::size_t batch = chain.kv_head / params.kv_heads;
    const std::size_t head = chain.kv_head % params.kv_heads;
    const int t = place % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = key + 8 * half;
      std::uint16_t* line =
          tensor + ((batch * static_cast<std::size_t>(params.seqlen_k) + static_cast<std::size_t>(row)) * params.kv_heads + head) * head_dim;
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

  /// Grouped queries, one chain per q head: adds this chain's part to the sum in its place of the order. Returns
  /// true when it was the last, with the whole sum in `d`.
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

  __device__ __forceinline__ void finish_chain(float (&dk)[out_registers], float (&dv)[out_registers],
                                               const ChainInfo& info) const {
    const DeviceChain chain = params.schedule.chains[info.index];
    int place = thread;
    asm volatile("" : "+r"(place));  // or the compiler computes all addresses below before the loop and keeps them
    bool last = true;
    if (chain.group_count > 1) {
      const std::size_t slot = static_cast<std::size_t>(chain.kv_head) * params.kv_tiles + chain.kv_tile;
      std::uint32_t* ticket = params.schedule.group_tickets + slot;
      float* sums = params.group_accumulator + slot * (2 * Config::tile_kv * head_dim);
      const bool first = chain.group_rank == 0;
      last = chain.group_rank + 1 == chain.group_count;
      if (thread == 0)
        wait_for_ticket(params.schedule, ticket, chain.group_rank, {chain.q_head, 0, chain.kv_tile, 1});
      ptx::named_barrier(2, Config::matrix_threads);
      add_to_group(dk, sums, first, last, place);
      add_to_group(dv, sums + Config::tile_kv * head_dim, first, last, place);
      __threadfence();
      ptx::named_barrier(2, Config::matrix_threads);
      if (thread == 0) ptx::add_release(ticket, 1);
    }
    if (last) {
      write_rows<true>(dk, params.dk, info, place);
      write_rows<false>(dv, params.dv, info, place);
    }
  }

  /// What runs through all steps of a CTA.
  struct Progress {
    ptx::Ring q{}, dout{};
    ptx::Ring dq{0, 1};
    std::uint32_t tile = 0;
  };

  __device__ void run() const {
    std::uint32_t kv_parity = 0;
    Progress at;
    while (true) {
      ptx::wait(shared.kv_full, kv_parity);
      kv_parity ^= 1;
      const ChainInfo chain = shared.chain;
      if (chain.index == params.schedule.chain_count) return;
      float dk[out_registers];
      float dv[out_registers];
#pragma unroll
      for (int i = 0; i < out_registers; ++i) dk[i] = dv[i] = 0.0F;
      if (chain.step_count > 0) {
        float s[score_registers];
        float dp[score_registers];
        if constexpr (Config::next_scores == NextScores::after_dq) {
          start_s(s, at.q);
          start_dp(dp, at.dout);
        }
        for (std::uint32_t i = 1; i < chain.step_count; ++i) step<true>(dk, dv, s, dp, chain, at);
        step<false>(dk, dv, s, dp, chain, at);
      }
      arrive_as_warp(shared.kv_empty);
      finish_chain(dk, dv, chain);
    }
  }

  /// Starts S^T = K Q^T of the stage that `ring` points to, as one group.
  __device__ __forceinline__ void start_s(float (&s)[score_registers], const ptx::Ring& ring) const {
    ptx::wait(shared.q_full[ring.stage], ring.parity);
    ptx::touch(s);
    ptx::wgmma_fence();
    scores(s, shared.k, shared.q[ring.stage]);
    ptx::wgmma_commit();
  }

  /// Starts dP^T = V dO^T likewise.
  __device__ __forceinline__ void start_dp(float (&dp)[score_registers], const ptx::Ring& ring) const {
    ptx::wait(shared.dout_full[ring.stage], ring.parity);
    ptx::touch(dp);
    ptx::wgmma_fence();
    scores(dp, shared.v, shared.dout[ring.stage]);
    ptx::wgmma_commit();
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
  __device__ __forceinline__ void differences(const float (&p)[score_registers], const float (&dp)[score_registers],
                                              const float* dpsum, std::uint32_t (&p16)[score_registers / 2],
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

  /// One tile. With NextScores::after_dq its S and dP were started by the step before, so that the tensor cores have
  /// work while the warps hand dQ over; `has_next`: another tile of the chain follows, start its S and dP likewise.
  template <bool has_next>
  __device__ __forceinline__ void step(float (&dk)[out_registers], float (&dv)[out_registers], float (&s)[score_registers],
                                       float (&dp)[score_registers], const ChainInfo& chain, Progress& at) const {
    const std::uint32_t q_stage = at.q.stage;
    const std::uint32_t dout_stage = at.dout.stage;
    constexpr bool next_now = has_next && Config::next_scores == NextScores::after_dq;
    if constexpr (Config::next_scores == NextScores::with_tile) {
      start_s(s, at.q);
      start_dp(dp, at.dout);
    }
    at.q.template advance<Config::q_stages>();
    at.dout.template advance<Config::dout_stages>();
    const StageInfo info = shared.stage[q_stage];
    TaskTrace* trace = params.schedule.trace != nullptr && thread == 0 ? params.schedule.trace + info.step : nullptr;
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
    probabilities(s, shared.lse2[q_stage] + lane % 4 * 2);
    ptx::wgmma_wait<0>();
    ptx::touch(dp);
    differences(s, dp, shared.dpsum[dout_stage] + lane % 4 * 2, p16, ds16);

    ptx::touch(dv);
    ptx::wgmma_fence();
    extend(dv, p16, shared.dout[dout_stage]);
    ptx::wgmma_commit();

    // Two dS buffers: whoever passes this barrier has finished the dQ product of the step before.
    void* ds_buffer = shared.ds[at.tile & 1U];
    store_ds(ds16, ds_buffer);
    ptx::fence_proxy_async_shared();
    ptx::named_barrier(1, Config::matrix_threads);
    if constexpr (Config::wait_for_dv) {
      ptx::wgmma_wait<0>();  // frees the registers of p
      ptx::touch(dv);
      arrive_as_warp(shared.dout_empty[dout_stage]);
    }

    float dq[dq_registers];
    ptx::touch(dq);
    ptx::touch(dk);
    ptx::wgmma_fence();
    dq_partial(dq, ds_buffer);
    ptx::wgmma_commit();
    extend(dk, ds16, shared.q[q_stage]);
    ptx::wgmma_commit();

    if constexpr (!Config::wait_for_dv) {
      ptx::wgmma_wait<2>();
      ptx::touch(dv);
      arrive_as_warp(shared.dout_empty[dout_stage]);
    }
    ptx::wgmma_wait<1>();
    ptx::touch(dq);
    write_dq_tile(dq, info.flags, at.dq, at.tile);
    ++at.tile;
    if constexpr (next_now) start_s(s, at.q);
    ptx::wgmma_wait<next_now ? 1 : 0>();
    ptx::touch(dk);
    arrive_as_warp(shared.q_empty[q_stage]);
    if constexpr (next_now) start_dp(dp, at.dout);
    if (trace != nullptr) trace->compute_end = static_cast<std::int64_t>(ptx::sm_clock());
  }

  /// Hands this tile's dQ to its writer.
  __device__ __forceinline__ void write_dq_tile(float (&dq)[dq_registers], std::uint32_t flags, ptx::Ring& ring,
                                                std::uint32_t tile) const {
    if ((flags & DeviceStep::first) != 0) {
#pragma unroll
      for (int i = 0; i < dq_registers; ++i) dq[i] = __fadd_rn(0.0F, dq[i]);  // as if added to zero: no -0
    }
    ptx::wait(shared.dq_empty[ring.stage], ring.parity);
    auto* pieces = reinterpret_cast<float4*>(shared.dq[ring.stage]) + warpgroup * (dq_registers / 4) * 128 + thread % 128;
#pragma unroll
    for (int i = 0; i < dq_registers / 4; ++i)
      pieces[i * 128] = make_float4(dq[4 * i], dq[4 * i + 1], dq[4 * i + 2], dq[4 * i + 3]);
    ring.advance<Config::dq_buffers>();
    ptx::fence_proxy_async_shared();
    arrive_as_warp(shared.dq_full[tile & 1U]);
  }
};

template <class Config>
__global__ void __launch_bounds__(Config::threads, 1) hopper_backward(const __grid_constant__ HopperParams params) {
  extern __shared__ __align__(1024) std::byte memory[];
  auto& shared = *reinterpret_cast<HopperShared<Config>*>(memory);
  if (threadIdx.x == 0) {
    if ((ptx::shared_address(memory) & 1023U) != 0) __trap();
    constexpr int matrix_warps = Config::matrix_threads / 32;
    ptx::init(shared.kv_full, 1);
    ptx::init(shared.kv_empty, matrix_warps + 2);
    for (int s = 0; s < Config::q_stages; ++s) {
      ptx::init(shared.q_full[s], 1);
      ptx::init(shared.q_empty[s], matrix_warps);
    }
    for (int s = 0; s < Config::dout_stages; ++s) {
      ptx::init(shared.dout_full[s], 1);
      ptx::init(shared.dout_empty[s], matrix_warps);
    }
    for (int w = 0; w < 2; ++w) ptx::init(shared.dq_full[w], matrix_warps);
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
    Matrix<Config>{shared, params, thread, warpgroup - 1, thread % 32, thread % 128 / 32}.run();
  }
}

}  // namespace dashlab::gpu
