// Lemma 1 and conflict freedom: both look at the run in which no add waits for its rank.
#include <algorithm>
#include <tuple>

#include "dashlab/core/simulate.hpp"
#include "dashlab/core/verify.hpp"

namespace dashlab {

Alignment alignment(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                    const Costs& costs) {
  if (schedule.dq_mode != DqMode::ordered) return {true, true};
  Schedule unordered = schedule;
  unordered.dq_mode = DqMode::arrival;
  unordered.row_begin.clear();
  unordered.reduce_kv.clear();
  Costs plain = costs;
  plain.link = 0;
  plain.overlap_depth = 0;
  plain.jitter.reset();
  Timeline free_run;
  simulate(problem, tiles, unordered, plain, &free_run);

  // Adds of each row as the free run has them, and at which place of the schedule's order each stands.
  struct Add {
    std::uint64_t row;
    std::int64_t start;
    std::int64_t end;
    std::uint32_t kv;
  };
  std::vector<Add> adds;
  adds.reserve(free_run.tasks.size());
  for (const TaskSpan& t : free_run.tasks) {
    adds.push_back({std::uint64_t{index(t.head)} * tiles.q_tiles() + index(t.q), t.reduce_start, t.reduce_end,
                    index(t.kv)});
  }
  std::ranges::sort(adds, {}, [](const Add& a) { return std::tuple(a.row, a.start, a.end, a.kv); });
  Alignment result{true, true};
  for (std::size_t i = 1; i < adds.size(); ++i) {
    if (adds[i].row == adds[i - 1].row && adds[i].start < adds[i - 1].end) result.conflict_free = false;
  }
  std::vector<std::size_t> of_kv(tiles.kv_tiles());
  for (std::size_t begin = 0; begin < adds.size();) {
    std::size_t end = begin;
    for (; end < adds.size() && adds[end].row == adds[begin].row; ++end) of_kv[adds[end].kv] = end;
    const auto order = schedule.reduce_order(adds[begin].row);
    for (std::size_t rank = 1; rank < order.size(); ++rank) {
      if (adds[of_kv[order[rank]]].start < adds[of_kv[order[rank - 1]]].end) result.lemma1 = false;
    }
    begin = end;
  }
  return result;
}

}  // namespace dashlab
