// Lemma 1 and conflict freedom: both look at the run in which no add waits for its rank.
#include "dashlab/core/verify.hpp"
#include "memory.hpp"
#include "rows.hpp"
#include "simulate_alone.hpp"

namespace dashlab {

Alignment alignment(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                    const Costs& costs) {
  if (schedule.dq_mode != DqMode::ordered) return {true, true};
  // Beside the timeline its grouping by rows and a copy of the steps.
  require_memory((sizeof(TaskSpan) + 24) * schedule.steps.size(), "the check of Lemma 1");
  Schedule unordered = schedule;
  unordered.dq_mode = DqMode::arrival;
  unordered.row_begin.clear();
  unordered.reduce_kv.clear();
  Costs plain = costs;
  plain.link = 0;
  plain.overlap_depth = 0;
  plain.jitter.reset();
  Timeline free_run;
  simulate_alone(problem, tiles, unordered, plain, &free_run);

  const TimelineRows rows(free_run.tasks);
  Alignment result{true, true};
  std::vector<const TaskSpan*> of_kv(tiles.kv_tiles());
  for (std::size_t r = 0; r < rows.count(); ++r) {
    const auto row = rows.row(r);
    if (row.empty()) continue;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const TaskSpan& task = free_run.tasks[row[i]];
      of_kv[index(task.kv)] = &task;
      if (i > 0 && task.reduce_start < free_run.tasks[row[i - 1]].reduce_end) result.conflict_free = false;
    }
    const TaskSpan& any = free_run.tasks[row.front()];
    const auto order = schedule.reduce_order(std::size_t{index(any.head)} * tiles.q_tiles() + index(any.q));
    for (std::size_t rank = 1; rank < order.size(); ++rank) {
      if (of_kv[order[rank]]->reduce_start < of_kv[order[rank - 1]]->reduce_end) result.lemma1 = false;
    }
  }
  return result;
}

}  // namespace dashlab
