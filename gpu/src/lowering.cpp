#include "lowering.hpp"

#include <algorithm>

namespace dashlab::gpu {

namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};

/// The ranks of all ordered steps. Steps are grouped by row first, so that one table of kv tiles serves every
/// row.
void set_ranks(const Problem& problem, const Schedule& schedule, LoweredSchedule& out) {
  const auto rows = static_cast<std::size_t>(problem.total_heads() * problem.q_tiles());
  std::vector<std::uint64_t> begin(rows + 1, 0);
  for (const DeviceStep& step : out.steps) ++begin[step.row + 1];
  for (std::size_t r = 0; r < rows; ++r) begin[r + 1] += begin[r];
  std::vector<std::uint64_t> by_row(out.steps.size());
  std::vector<std::uint32_t> kv_of_step(out.steps.size());
  auto at = begin;
  for (const DeviceChain& chain : out.chains)
    for (std::uint64_t s = chain.step_begin; s < chain.step_begin + chain.step_count; ++s) {
      by_row[at[out.steps[s].row]++] = s;
      kv_of_step[s] = chain.kv_tile;
    }
  std::vector<std::uint32_t> rank_of(static_cast<std::size_t>(problem.kv_tiles()), none);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto order = schedule.reduce_order(r);
    for (std::size_t i = 0; i < order.size(); ++i)
      if (order[i] < rank_of.size()) rank_of[order[i]] = static_cast<std::uint32_t>(i);
    for (std::uint64_t i = begin[r]; i < begin[r + 1]; ++i) {
      DeviceStep& step = out.steps[by_row[i]];
      const std::uint32_t rank = rank_of[kv_of_step[by_row[i]]];
      step.rank_and_flags |= rank << 2 | (rank == 0 ? DeviceStep::first : 0U);
    }
    for (const std::uint32_t kv : order)
      if (kv < rank_of.size()) rank_of[kv] = none;
  }
}

}  // namespace

std::vector<DeviceKeyRange> padded_key_ranges(const Problem& problem) {
  std::vector<DeviceKeyRange> ranges(static_cast<std::size_t>(problem.q_tiles() * problem.tile_q));
  const bool by_tiles = std::holds_alternative<BlocksMask>(problem.mask);
  for (std::int64_t q = 0; q < problem.seqlen_q; ++q) {
    const KeyRange keys = by_tiles ? KeyRange{0, problem.seqlen_k} : visible_keys(problem, q);
    ranges[static_cast<std::size_t>(q)] = {static_cast<std::int32_t>(keys.begin),
                                           static_cast<std::int32_t>(keys.end)};
  }
  return ranges;
}

LoweredSchedule lower(const Problem& problem, const TileMap& tiles, const Schedule& schedule) {
  LoweredSchedule out;
  const auto q_tiles = static_cast<std::uint32_t>(problem.q_tiles());
  const auto kv_tiles = static_cast<std::size_t>(problem.kv_tiles());
  const auto kv_heads = static_cast<std::size_t>(problem.batch * problem.kv_heads);
  const auto group_size = static_cast<std::size_t>(problem.group_size());
  const bool gathered = schedule.group_mode == GroupMode::gathered && group_size > 1;
  out.grouped = group_size > 1 && !gathered;
  const auto partial = [&](std::uint32_t q, std::uint32_t kv) {
    return tiles.at(QTile{q}, KvTile{kv}) == TileClass::partial ? DeviceStep::partial : 0U;
  };

  std::vector<std::uint8_t> has_chain(kv_heads * kv_tiles, 0);
  const bool is_static = schedule.placement == Placement::static_lists;
  std::size_t sm = 0;
  out.steps.reserve(schedule.steps.size());
  for (std::size_t c = 0; c < schedule.chains.size(); ++c) {
    const Chain& chain = schedule.chains[c];
    if (is_static)
      while (sm < schedule.sm_begin.size() && schedule.sm_begin[sm] <= c) {
        out.cta_begin.push_back(static_cast<std::uint32_t>(out.chains.size()));
        ++sm;
      }
    DeviceChain device;
    device.step_count = static_cast<std::uint32_t>(schedule.chain_steps(c).size());
    device.kv_tile = chain.tile;
    if (chain.second_pass) {
      device.step_begin = out.second_steps.size();
      device.kv_head = problem.kv_head_of(HeadId{chain.head});
      device.q_head = chain.head;
      for (const std::uint32_t kv : schedule.chain_steps(c))
        out.second_steps.push_back(
            {chain.head * q_tiles + chain.tile, kv, chain.head, partial(chain.tile, kv)});
      out.second_chains.push_back(device);
      continue;
    }
    device.step_begin = out.steps.size();
    device.kv_head = gathered ? chain.head : problem.kv_head_of(HeadId{chain.head});
    const std::size_t slot = device.kv_head * kv_tiles + chain.tile;
    has_chain[slot] = 1;
    device.q_head = gathered ? static_cast<std::uint32_t>(chain.head * group_size) : chain.head;
    if (out.grouped) {
      const auto* order = schedule.group_order.data() + slot * group_size;
      device.group_count = static_cast<std::uint32_t>(group_size);
      device.group_rank =
          static_cast<std::uint32_t>(std::find(order, order + group_size, chain.head) - order);
    }
    for (std::uint64_t s = schedule.chain_begin[c]; s < schedule.chain_begin[c + 1]; ++s) {
      const std::uint32_t head = schedule.head_of_step(c, s);
      const std::uint32_t q = schedule.steps[s];
      out.steps.push_back({head * q_tiles + q, q, head, partial(q, chain.tile)});
      out.step_of_device.push_back(s);
    }
    out.chains.push_back(device);
    out.chain_of_device.push_back(static_cast<std::uint32_t>(c));
  }
  const auto planned = static_cast<std::uint32_t>(out.chains.size());
  for (std::size_t slot = 0; slot < has_chain.size(); ++slot)
    if (has_chain[slot] == 0) {
      DeviceChain device;
      device.step_begin = out.steps.size();
      device.kv_head = static_cast<std::uint32_t>(slot / kv_tiles);
      device.kv_tile = static_cast<std::uint32_t>(slot % kv_tiles);
      out.chains.push_back(device);
      out.chain_of_device.push_back(none);
    }
  if (is_static) {  // the last CTA takes the unseen kv tiles
    out.cta_begin.resize(schedule.sm_begin.size(), planned);
    out.cta_begin.back() = static_cast<std::uint32_t>(out.chains.size());
  }

  out.row_addends.assign(static_cast<std::size_t>(problem.total_heads()) * q_tiles, 0);
  for (const DeviceStep& step : schedule.dq_mode == DqMode::second_pass ? out.second_steps : out.steps)
    ++out.row_addends[step.row];
  if (schedule.dq_mode == DqMode::ordered) set_ranks(problem, schedule, out);
  out.key_ranges = padded_key_ranges(problem);
  return out;
}

}  // namespace dashlab::gpu
