// The warps that move data for the Hopper backward kernel: a producer that brings tiles in as the schedule
// says, and two writers that take dQ out in its order.
#pragma once

#include "hopper_layout.cuh"
#include "ptx/bulk.cuh"
#include "ticket.cuh"

namespace dashlab::gpu {

/// The schedule's steps become tiles in shared memory. One thread.
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
      ptx::copy_tensor(shared.dout[dout.stage][b], params.dout, 64 * b, head, row, batch,
                       shared.dout_full[dout.stage]);
    ptx::copy_bulk(shared.dpsum[dout.stage], params.dpsum + offset, Config::row_bytes,
                   shared.dout_full[dout.stage]);
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

/// dQ writer `writer` (0 or 1): takes every other tile. One thread.
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
    if constexpr (Config::with_dq)
      for (std::uint32_t i = 0; i < chain.step_count; ++i, ++tile) {
        if ((tile & 1U) != writer) continue;
        const std::uint64_t index = chain.step_begin + i;
        const DeviceStep step = schedule.steps[index];
        perturb(schedule, index * 2 + 1);
        std::uint32_t* ticket = schedule.tickets + step.row;
        // The ticket is polled while the tile is still being computed.
        if (schedule.ordered)
          wait_for_ticket(schedule, ticket, step.rank(), {step.head, step.q_tile, chain.kv_tile, 0});
        const std::uint32_t buffer = Config::dq_buffers == 1 ? 0 : writer;
        ptx::wait(shared.dq_full[writer], full_parity);
        full_parity ^= 1;
        if (schedule.trace != nullptr)
          schedule.trace[index].reduce_start = static_cast<std::int64_t>(ptx::sm_clock());
        ptx::fence_proxy_async_global();
        float* destination =
            params.dq_accumulator + static_cast<std::size_t>(step.row) * (Config::tile_q * Config::head_dim);
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
        if (schedule.trace != nullptr)
          schedule.trace[index].reduce_end = static_cast<std::int64_t>(ptx::sm_clock());
      }
  }
}

}  // namespace dashlab::gpu
