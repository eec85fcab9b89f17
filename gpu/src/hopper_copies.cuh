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
  std::uint32_t tile = 0;  ///< steps so far

  __device__ void load_step(std::uint64_t index) {
    const DeviceStep step = params.schedule.steps[index];
    perturb(params.schedule, index * 2);
    const auto row = static_cast<std::int32_t>(step.q_tile * Config::tile_q);
    const auto batch = static_cast<std::int32_t>(step.head / params.heads);
    const auto head = static_cast<std::int32_t>(step.head % params.heads);
    const std::size_t offset = static_cast<std::size_t>(step.row) * Config::tile_q;

    const std::uint32_t s = ptx::slot_of<Config::stages>(tile);
    const std::uint32_t free = ptx::parity_of<Config::stages>(tile) ^ 1U;  // the use before this one is over
    ptx::wait(shared.q_empty[s], free);
    shared.stage[s] = {step.q_tile, step.rank_and_flags & 3U, static_cast<std::uint32_t>(index), 0};
    ptx::arrive_expect_tx(shared.q_full[s], Config::q_bytes + Config::row_bytes);
    for (int b = 0; b < Config::blocks; ++b)
      ptx::copy_tensor(shared.q[s][b], params.q, 64 * b, head, row, batch, shared.q_full[s]);
    ptx::copy_bulk(shared.lse2[s], params.lse2 + offset, Config::row_bytes, shared.q_full[s]);

    ptx::wait(shared.dout_empty[s], free);
    ptx::arrive_expect_tx(shared.dout_full[s], Config::q_bytes + Config::row_bytes);
    for (int b = 0; b < Config::blocks; ++b)
      ptx::copy_tensor(shared.dout[s][b], params.dout, 64 * b, head, row, batch, shared.dout_full[s]);
    ptx::copy_bulk(shared.dpsum[s], params.dpsum + offset, Config::row_bytes, shared.dout_full[s]);
    ++tile;
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

  /// A fixed list's next chain is known, so its first Q and dO travel while the chain before still uses its K
  /// and V. From a queue a chain is taken only when the one before has had all its turns: a CTA that waits
  /// for a rank must not hold a chain that another CTA could run, for that may be the chain it waits for.
  __device__ void run() {
    const bool fixed = params.schedule.cta_begin != nullptr;
    std::uint32_t position = 0;
    std::uint32_t parity = 1;
    while (true) {
      std::uint32_t index = 0;
      DeviceChain chain{};
      const auto take = [&] {
        index = next_chain(params.schedule, position);
        if (index != params.schedule.chain_count) chain = params.schedule.chains[index];
      };
      if (fixed) {
        take();
        if (chain.step_count > 0) load_step(chain.step_begin);
      }
      ptx::wait(shared.kv_empty, parity);
      parity ^= 1;
      if (!fixed) take();
      shared.chain = {{index, chain.step_count, chain.kv_tile},
                      chain.kv_head,
                      chain.group_rank,
                      chain.group_count,
                      chain.q_head};
      if (index == params.schedule.chain_count) {
        ptx::arrive(shared.kv_full);
        return;
      }
      load_kv(chain);
      for (std::uint32_t i = fixed ? 1 : 0; i < chain.step_count; ++i) load_step(chain.step_begin + i);
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
    const ChainStart chain = shared.chain.start;
    std::uint64_t begin = 0;
    if (chain.index != schedule.chain_count) begin = schedule.chains[chain.index].step_begin;
    const std::uint32_t steps = chain.step_count;
    const std::uint32_t first = (tile ^ writer) & 1U;  // this writer's first step; it takes every other one
    if (!Config::with_dq || steps <= first) ptx::arrive(shared.kv_empty);
    if (chain.index == schedule.chain_count) return;
    if constexpr (Config::with_dq) {
      for (std::uint32_t i = first; i < steps; i += 2) {
        const std::uint64_t index = begin + i;
        const DeviceStep step = schedule.steps[index];
        perturb(schedule, index * 2 + 1);
        std::uint32_t* ticket = schedule.tickets + step.row;
        // The ticket is polled while the tile is still being computed.
        if (schedule.ordered)
          wait_for_ticket(schedule, ticket, step.rank(), {step.head, step.q_tile, chain.kv_tile, 0});
        if (i + 2 >= steps) ptx::arrive(shared.kv_empty);  // its last turn has come
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
      tile += steps;
    }
  }
}

}  // namespace dashlab::gpu
