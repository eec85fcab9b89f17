#include "dashlab/core/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "add_history.hpp"
#include "critical_path.hpp"
#include "dashlab/core/error.hpp"
#include "execution.hpp"
#include "memory.hpp"
#include "resident.hpp"
#include "simulate_alone.hpp"
#include "task_costs.hpp"

namespace dashlab {
namespace {

struct Engine {
  explicit Engine(int depth) : adds(depth) {}
  std::int64_t compute_end = 0;
  std::int64_t add_end = 0;
  AddHistory adds;
  std::int64_t busy = 0;
  std::int64_t idle = 0;  // between tasks
  std::int64_t startup = 0;
};

class TimedClock {
 public:
  TimedClock(const TileMap& tiles, const Schedule& schedule, const Costs& costs, std::size_t slots,
             Timeline* timeline)
      : schedule_(schedule),
        task_costs_(tiles, schedule, costs),
        ticks_(task_costs_.ticks()),
        serial_(costs.overlap_depth == 0),
        engines_(slots, Engine(costs.overlap_depth)),
        row_end_(schedule.row_begin.size(), 0),
        row_sm_(schedule.row_begin.size(), 0),
        group_end_(schedule.group_order.size(), 0),
        sm_of_chain_(schedule.chains.size(), 0),
        timeline_(timeline) {
    if (timeline_) timeline_->tasks.reserve(schedule.steps.size());
  }

  void launch(std::size_t) {}

  void task(std::size_t slot, std::size_t chain, std::uint64_t step, std::uint64_t row, std::uint32_t rank) {
    Engine& e = engines_[slot];
    const auto [compute, reduce] = task_costs_(chain, step);
    sm_of_chain_[chain] = static_cast<std::uint32_t>(slot);
    const bool ordered = schedule_.dq_mode == DqMode::ordered;
    const std::int64_t start = std::max(e.compute_end, e.adds.oldest());
    const std::int64_t computed = start + compute;
    std::int64_t add = std::max(computed, e.add_end);
    if (ordered && rank > 0) add = std::max(add, row_end_[row] + (row_sm_[row] != slot ? ticks_.link : 0));
    const std::int64_t end = add + reduce;

    const bool first_task = e.busy == 0;
    if (first_task) e.startup = start;
    e.idle += serial_ ? add - computed : (first_task ? 0 : start - e.compute_end);
    e.busy += compute + (serial_ ? reduce : 0);
    e.compute_end = computed;
    e.add_end = end;
    e.adds.push(end);
    if (ordered) {
      row_end_[row] = end;
      row_sm_[row] = static_cast<std::uint32_t>(slot);
    }
    if (timeline_) record(slot, chain, step, rank, {start, computed, add, end});
  }

  void group_add(std::size_t slot, std::size_t group_row, bool first) {
    Engine& e = engines_[slot];
    const std::int64_t ready = std::max(e.compute_end, e.add_end);
    const std::int64_t start = first ? ready : std::max(ready, group_end_[group_row] + ticks_.link);
    const std::int64_t end = start + ticks_.reduce;
    e.idle += start - ready;
    e.busy += ticks_.reduce;
    e.compute_end = end;
    e.add_end = std::max(e.add_end, end);
    group_end_[group_row] = end;
  }

  std::int64_t ended(std::size_t slot) {
    Engine& e = engines_[slot];
    const std::int64_t end = std::max(e.compute_end, e.add_end);
    if (schedule_.placement == Placement::dynamic) {  // the next CTA starts when this one left
      if (!serial_) e.idle += end - e.compute_end;
      e.compute_end = end;
    }
    return end;
  }

  Simulation result() {
    Simulation sim;
    sim.ticks_per_unit = ticks_.per_unit;
    for (const Engine& e : engines_) sim.makespan = std::max({sim.makespan, e.compute_end, e.add_end});
    sim.sms.resize(schedule_.sms);
    for (std::size_t sm = 0; sm < schedule_.sms; ++sm) {
      SmUse& use = sim.sms[sm];
      if (sm < engines_.size()) {
        use.busy = engines_[sm].busy;
        use.startup = engines_[sm].startup;
        use.reduce_wait = engines_[sm].idle;
      }
      use.tail = sim.makespan - use.busy - use.startup - use.reduce_wait;
      sim.work += use.busy;
      sim.reduce_wait += use.reduce_wait;
      sim.startup += use.startup;
      sim.tail += use.tail;
    }
    sim.sm_of_chain = std::move(sm_of_chain_);
    return sim;
  }

 private:
  void record(std::size_t slot, std::size_t chain, std::uint64_t step, std::uint32_t rank,
              const std::array<std::int64_t, 4>& times) {
    TaskSpan span = span_of_task(schedule_, chain, step);
    span.sm = SmId{static_cast<std::uint32_t>(slot)};
    span.rank = rank;
    span.compute_start = times[0];
    span.compute_end = times[1];
    span.reduce_start = times[2];
    span.reduce_end = times[3];
    timeline_->tasks.push_back(span);
  }

  const Schedule& schedule_;
  TaskCosts task_costs_;
  TickCosts ticks_;
  bool serial_;
  std::vector<Engine> engines_;
  std::vector<std::int64_t> row_end_;
  std::vector<std::uint32_t> row_sm_;
  std::vector<std::int64_t> group_end_;
  std::vector<std::uint32_t> sm_of_chain_;
  Timeline* timeline_;
};

}  // namespace

double Simulation::utilisation() const {
  const double capacity = static_cast<double>(makespan) * static_cast<double>(sms.size());
  return capacity > 0 ? static_cast<double>(work) / capacity : 1;
}

namespace {

[[noreturn]] void fail_deadlocked(const Schedule& schedule) {
  throw BadInput(fmt::format("schedule {}: deadlocks; `dashlab verify` names the cycle", schedule.name));
}

}  // namespace

Simulation simulate_alone(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                          const Costs& costs, Timeline* timeline) {
  TimedClock clock(tiles, schedule, costs, schedule.sms, timeline);
  Execution<TimedClock> execution(problem, tiles, schedule, schedule.sms, clock);
  if (!execution.run()) fail_deadlocked(schedule);
  return clock.result();
}

Simulation simulate(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                    const Costs& costs, Timeline* timeline, std::uint32_t resident_per_sm) {
  if (timeline) {
    require_memory(2 * sizeof(TaskSpan) * schedule.steps.size(), "the timeline");
    *timeline = {};
    timeline->title = fmt::format("{}, {}", schedule.name, to_string(problem.mask));
    timeline->sms = schedule.sms;
  }
  Simulation sim;
  if (resident_per_sm <= 1) {
    sim = simulate_alone(problem, tiles, schedule, costs, timeline);
  } else if (auto shared = simulate_resident(problem, tiles, schedule, costs, resident_per_sm, timeline)) {
    sim = std::move(*shared);
  } else {
    fail_deadlocked(schedule);
  }
  if (timeline) {
    timeline->ticks_per_unit = sim.ticks_per_unit;
    timeline->makespan = sim.makespan;
    finish_timeline(*timeline, schedule.dq_mode, resident_per_sm > 1 ? -1 : costs.overlap_depth);
  }
  return sim;
}

}  // namespace dashlab
