#include "dashlab/emulator/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "dashlab/emulator/probe.hpp"

namespace dashlab {

namespace {

/// A sum on its way: the tile of each step and the value after it.
struct Way {
  std::vector<std::uint32_t> tiles;
  std::vector<float> sums;
  std::vector<float> terms;  ///< dq only: what each step adds
};

Way dq_way(const AttentionInputs& inputs, const TracedRun& run, std::uint32_t head, std::int64_t q,
           std::size_t column) {
  const TileMap tiles(run.problem);
  const Schedule schedule = schedule_of(run.run, run.problem, tiles, run.schedule);
  const auto probe = make_probe(run.run, run.problem, tiles, inputs);
  Way way;
  const auto row =
      static_cast<std::size_t>(head) * tiles.q_tiles() + static_cast<std::size_t>(q / run.problem.tile_q);
  if (schedule.dq_mode != DqMode::ordered) return way;
  float sum = 0.0F;
  for (const std::uint32_t kv : schedule.reduce_order(row)) {
    const float term = probe->dq_partial(head, q, kv)[column];
    sum += term;
    way.tiles.push_back(kv);
    way.terms.push_back(term);
    way.sums.push_back(sum);
  }
  return way;
}

Way kv_way(const AttentionInputs& inputs, const TracedRun& run, std::uint32_t head, std::int64_t key,
           std::size_t column, bool dv) {
  const TileMap tiles(run.problem);
  const Schedule schedule = schedule_of(run.run, run.problem, tiles, run.schedule);
  const auto probe = make_probe(run.run, run.problem, tiles, inputs);
  Way way;
  const auto tile = static_cast<std::uint32_t>(key / run.problem.tile_kv);
  const auto chain = std::find(schedule.chains.begin(), schedule.chains.end(), Chain{head, tile, false});
  if (chain == schedule.chains.end()) return way;
  KvRow row;
  for (const std::uint32_t q :
       schedule.chain_steps(static_cast<std::size_t>(chain - schedule.chains.begin()))) {
    probe->kv_step(row, head, key, q);
    way.tiles.push_back(q);
    way.sums.push_back(dv ? row.dv[column] : row.dk[column]);
  }
  return way;
}

std::string bits_of_sum(float x) {
  return fmt::format("0x{:08x} ({:.9g})", std::bit_cast<std::uint32_t>(x), x);
}

}  // namespace

std::string trace_element(const std::string& tensor, const std::vector<std::int64_t>& index,
                          const AttentionInputs& inputs, const TracedRun& a, const TracedRun& b) {
  const auto column = static_cast<std::size_t>(index[3]);
  const bool dq = tensor == "dq";
  if (!dq && a.problem.group_size() > 1)
    return "grouped heads are not traced: dk and dv are sums over a group";
  const std::int64_t heads = dq ? a.problem.heads : a.problem.kv_heads;
  const auto head = static_cast<std::uint32_t>(index[0] * heads + index[2]);
  const auto way_of = [&](const TracedRun& run) {
    return dq ? dq_way(inputs, run, head, index[1], column)
              : kv_way(inputs, run, head, index[1], column, tensor == "dv");
  };
  const Way x = way_of(a);
  const Way y = way_of(b);
  if (x.tiles.empty() || y.tiles.empty()) return "this schedule sums in a way that is not traced";
  const char* kind = dq ? "kv" : "q";
  for (std::size_t step = 0; step < std::max(x.tiles.size(), y.tiles.size()); ++step) {
    if (step >= x.tiles.size() || step >= y.tiles.size())
      return fmt::format("head {}: step {} exists only in {}", head, step, step < x.tiles.size() ? "A" : "B");
    const bool same_sum =
        std::bit_cast<std::uint32_t>(x.sums[step]) == std::bit_cast<std::uint32_t>(y.sums[step]);
    if (same_sum && x.tiles[step] == y.tiles[step]) continue;
    return fmt::format("head {}, step {}: A takes {} tile {} and holds {}, B takes {} tile {} and holds {}",
                       head, step, kind, x.tiles[step], bits_of_sum(x.sums[step]), kind, y.tiles[step],
                       bits_of_sum(y.sums[step]));
  }
  return fmt::format(
      "head {}: both take the same {} steps and must hold the same {}; one of the files was not made so",
      head, x.tiles.size(), bits_of_sum(x.sums.back()));
}

}  // namespace dashlab
