// The dQ pass of the schedule `two-pass`: a chain owns a q tile and walks its kv tiles, dQ stays in
// registers, nothing is reduced and nobody waits for anybody. Three products a step instead of one, for two
// of them are done again.
#pragma once

#include "hopper_tile.cuh"
#include "ptx/bulk.cuh"
#include "ticket.cuh"

namespace dashlab::gpu {

/// Shared memory: K and V in stages, Q and dO of one chain.
template <class Config>
struct alignas(1024) SecondPassShared {
  using Block16 = std::uint16_t[64];
  static constexpr int stages = 2;
  Block16 k[stages][Config::blocks][Config::tile_kv];
  Block16 v[stages][Config::blocks][Config::tile_kv];
  Block16 q[Config::blocks][Config::tile_q];
  Block16 dout[Config::blocks][Config::tile_q];
  Block16 ds[2][2][Config::tile_q];
  float lse2[Config::tile_q];
  float dpsum[Config::tile_q];
  StageInfo stage[stages];  ///< q_tile holds the kv tile
  ChainInfo chain;          ///< kv_tile holds the q tile
  ptx::Mbarrier q_full, q_empty;
  ptx::Mbarrier kv_full[stages], kv_empty[stages];
};

template <class Config>
struct SecondPassProducer {
  using Shared = SecondPassShared<Config>;
  Shared& shared;
  const HopperParams& params;

  __device__ void load_rows(const DeviceChain& chain) {
    const auto row = static_cast<std::int32_t>(chain.kv_tile * Config::tile_q);
    const auto batch = static_cast<std::int32_t>(chain.q_head / params.heads);
    const auto head = static_cast<std::int32_t>(chain.q_head % params.heads);
    const std::size_t offset =
        static_cast<std::size_t>(params.schedule.steps[chain.step_begin].row) * Config::tile_q;
    ptx::arrive_expect_tx(shared.q_full, 2 * (Config::q_bytes + Config::row_bytes));
    for (int b = 0; b < Config::blocks; ++b) {
      ptx::copy_tensor(shared.q[b], params.q, 64 * b, head, row, batch, shared.q_full);
      ptx::copy_tensor(shared.dout[b], params.dout, 64 * b, head, row, batch, shared.q_full);
    }
    ptx::copy_bulk(shared.lse2, params.lse2 + offset, Config::row_bytes, shared.q_full);
    ptx::copy_bulk(shared.dpsum, params.dpsum + offset, Config::row_bytes, shared.q_full);
  }

  __device__ void load_step(const DeviceChain& chain, std::uint64_t index, std::uint32_t tile) {
    const DeviceStep step = params.schedule.steps[index];
    perturb(params.schedule, index);
    const auto row = static_cast<std::int32_t>(step.q_tile * Config::tile_kv);
    const auto batch = static_cast<std::int32_t>(chain.kv_head / params.kv_heads);
    const auto head = static_cast<std::int32_t>(chain.kv_head % params.kv_heads);
    const std::uint32_t s = ptx::slot_of<Shared::stages>(tile);
    ptx::wait(shared.kv_empty[s], ptx::parity_of<Shared::stages>(tile) ^ 1U);
    shared.stage[s] = {step.q_tile, step.rank_and_flags & 3U, static_cast<std::uint32_t>(index), 0};
    ptx::arrive_expect_tx(shared.kv_full[s], 2 * Config::kv_bytes);
    for (int b = 0; b < Config::blocks; ++b) {
      ptx::copy_tensor(shared.k[s][b], params.k, 64 * b, head, row, batch, shared.kv_full[s]);
      ptx::copy_tensor(shared.v[s][b], params.v, 64 * b, head, row, batch, shared.kv_full[s]);
    }
  }

  __device__ void run() {
    std::uint32_t position = 0;
    std::uint32_t parity = 1;
    std::uint32_t tile = 0;
    while (true) {
      const std::uint32_t index = next_chain(params.schedule, position);
      const bool end = index == params.schedule.chain_count;
      DeviceChain chain{};
      if (!end) chain = params.schedule.chains[index];
      if (!end && chain.step_count == 0) continue;
      ptx::wait(shared.q_empty, parity);
      parity ^= 1;
      shared.chain = {{index, chain.step_count, chain.kv_tile}, chain.kv_head, 0, 1, chain.q_head};
      if (end) {
        ptx::arrive(shared.q_full);
        return;
      }
      load_rows(chain);
      for (std::uint32_t i = 0; i < chain.step_count; ++i) load_step(chain, chain.step_begin + i, tile++);
    }
  }
};

template <class Config>
struct SecondPassMatrix : TileMath<Config> {
  using Tile = TileMath<Config>;
  using Tile::dq_registers, Tile::lane, Tile::params, Tile::score_registers;

  SecondPassShared<Config>& shared;

  __device__ void run() const {
    std::uint32_t parity = 0;
    std::uint32_t tile = 0;
    while (true) {
      ptx::wait(shared.q_full, parity);
      parity ^= 1;
      const ChainStart chain = shared.chain.start;
      if (chain.index == params.schedule.chain_count) return;
      float dq[dq_registers];
#pragma unroll
      for (float& x : dq) x = 0.0F;
      for (std::uint32_t i = 0; i < chain.step_count; ++i, ++tile) step(dq, chain, tile);
      this->arrive_as_warp(shared.q_empty);
      const std::size_t row = params.schedule.steps[params.schedule.chains[chain.index].step_begin].row;
      this->store_dq(dq, params.dq_accumulator + row * (Config::tile_q * Config::head_dim));
    }
  }

  __device__ __forceinline__ void step(float (&dq)[dq_registers], const ChainStart& chain,
                                       std::uint32_t tile) const {
    constexpr int stages = SecondPassShared<Config>::stages;
    const std::uint32_t s = ptx::slot_of<stages>(tile);
    ptx::wait(shared.kv_full[s], ptx::parity_of<stages>(tile));
    const StageInfo info = shared.stage[s];
    float scores_s[score_registers];
    float scores_dp[score_registers];
    ptx::touch(scores_s);
    ptx::touch(scores_dp);
    ptx::wgmma_fence();
    this->scores(scores_s, shared.k[s], shared.q);
    ptx::wgmma_commit();
    this->scores(scores_dp, shared.v[s], shared.dout);
    ptx::wgmma_commit();
    ptx::wgmma_wait<1>();
    ptx::touch(scores_s);
    if ((info.flags & DeviceStep::partial) != 0) this->mask(scores_s, chain.kv_tile, info.q_tile);
    this->probabilities(scores_s, shared.lse2 + lane % 4 * 2);
    ptx::wgmma_wait<0>();
    ptx::touch(scores_dp);
    std::uint32_t p16[score_registers / 2];
    std::uint32_t ds16[score_registers / 2];
    this->differences(scores_s, scores_dp, shared.dpsum + lane % 4 * 2, p16, ds16);
    void* buffer = shared.ds[tile & 1U];
    this->store_ds(ds16, buffer);
    ptx::fence_proxy_async_shared();
    ptx::named_barrier(1, Config::matrix_threads);
    ptx::touch(dq);
    ptx::wgmma_fence();
    this->template dq_product<true>(dq, shared.k[s], buffer);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    ptx::touch(dq);
    this->arrive_as_warp(shared.kv_empty[s]);
  }
};

template <class Config>
__global__ void __launch_bounds__(Config::threads, 1)
    hopper_second_pass(const __grid_constant__ HopperParams params) {
  extern __shared__ __align__(1024) std::byte memory[];
  auto& shared = *reinterpret_cast<SecondPassShared<Config>*>(memory);
  if (threadIdx.x == 0) {
    if ((ptx::shared_address(memory) & 1023U) != 0) __trap();
    constexpr int matrix_arrivals = Config::matrix_threads / 32 * arrivals_of_a_warp;
    ptx::init(shared.q_full, 1);
    ptx::init(shared.q_empty, matrix_arrivals);
    for (int s = 0; s < SecondPassShared<Config>::stages; ++s) {
      ptx::init(shared.kv_full[s], 1);
      ptx::init(shared.kv_empty[s], matrix_arrivals);
    }
    ptx::fence_init();
  }
  __syncthreads();
  const int warpgroup = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / 128, 0);
  if (warpgroup == 0) {
    ptx::set_registers_down<24>();
    if (threadIdx.x == 0) SecondPassProducer<Config>{shared, params}.run();
  } else {
    ptx::set_registers_up<240>();
    const int thread = static_cast<int>(threadIdx.x) - Config::producer_threads;
    SecondPassMatrix<Config>{{params, thread, warpgroup - 1, thread % 32, thread % 128 / 32}, shared}.run();
  }
}

}  // namespace dashlab::gpu
