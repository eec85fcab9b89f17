#include "dashlab/core/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "critical_path.hpp"
#include "dashlab/core/error.hpp"
#include "execution.hpp"
#include "tick_costs.hpp"

namespace dashlab {
namespace {

// splitmix64's finaliser: a well-mixed 64-bit hash.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// exp(sigma * N(0,1)) by Box-Muller from the phase's own counter.
double jitter_factor(const Jitter& jitter, std::uint64_t step, Phase phase) {
  const std::uint64_t key =
      mix(jitter.seed + 0x9e3779b97f4a7c15ULL * (2 * step + static_cast<std::uint64_t>(phase) + 1));
  const double u = (static_cast<double>(key >> 40) + 1) * 0x1p-24;
  const double v = static_cast<double>(mix(key) >> 40) * 0x1p-24;
  return std::exp(jitter.sigma * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
}

// The end of the last D + 1 adds of an SM: compute k waits for add k-1-D.
class AddHistory {
 public:
  explicit AddHistory(int depth) : ends_(static_cast<std::size_t>(depth) + 1, 0) {}
  [[nodiscard]] std::int64_t oldest() const noexcept { return ends_[next_]; }
  void push(std::int64_t end) noexcept {
    ends_[next_] = end;
    if (++next_ == ends_.size()) next_ = 0;
  }

 private:
  std::vector<std::int64_t> ends_;
  std::size_t next_ = 0;
};

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
      : tiles_(tiles),
        schedule_(schedule),
        costs_(costs),
        ticks_(in_ticks(costs, schedule.dq_mode)),
        by_class_(ticks_.compute != ticks_.compute_partial),
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
    const auto [compute, reduce] = cost(schedule_.chains[chain], step);
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
    if (schedule_.placement == Placement::dynamic)
      e.compute_end = end;  // the next CTA starts when this one left
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
  struct PhaseCosts {
    std::int64_t compute;
    std::int64_t reduce;
  };

  // A two-pass task does 4 of the 5 products in the first pass and 3 in the second, and adds nothing.
  [[nodiscard]] PhaseCosts cost(const Chain& c, std::uint64_t step) const {
    std::int64_t compute = ticks_.compute;
    if (by_class_) {
      const std::uint32_t other = schedule_.steps[step];
      const TileClass tile =
          c.second_pass ? tiles_.at(QTile{c.tile}, KvTile{other}) : tiles_.at(QTile{other}, KvTile{c.tile});
      if (tile == TileClass::partial) compute = ticks_.compute_partial;
    }
    std::int64_t reduce = ticks_.reduce;
    if (schedule_.dq_mode == DqMode::second_pass) {
      compute = compute * (c.second_pass ? 3 : 4) / 5;
      reduce = 0;
    }
    if (costs_.jitter) {
      compute =
          std::llround(static_cast<double>(compute) * jitter_factor(*costs_.jitter, step, Phase::compute));
      reduce = std::llround(static_cast<double>(reduce) * jitter_factor(*costs_.jitter, step, Phase::reduce));
    }
    return {compute, reduce};
  }

  void record(std::size_t slot, std::size_t chain, std::uint64_t step, std::uint32_t rank,
              const std::array<std::int64_t, 4>& times) {
    const Chain& c = schedule_.chains[chain];
    TaskSpan span;
    span.head = HeadId{schedule_.head_of_step(chain, step)};
    span.q = QTile{c.second_pass ? c.tile : schedule_.steps[step]};
    span.kv = KvTile{c.second_pass ? schedule_.steps[step] : c.tile};
    span.sm = SmId{static_cast<std::uint32_t>(slot)};
    span.chain = static_cast<std::uint32_t>(chain);
    span.second_pass = c.second_pass;
    span.rank = rank;
    span.compute_start = times[0];
    span.compute_end = times[1];
    span.reduce_start = times[2];
    span.reduce_end = times[3];
    timeline_->tasks.push_back(span);
  }

  const TileMap& tiles_;
  const Schedule& schedule_;
  const Costs& costs_;
  TickCosts ticks_;
  bool by_class_;
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

Simulation simulate(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                    const Costs& costs, Timeline* timeline) {
  if (timeline) {
    *timeline = {};
    timeline->title = fmt::format("{}, {}", schedule.name, to_string(problem.mask));
    timeline->sms = schedule.sms;
  }
  TimedClock clock(tiles, schedule, costs, schedule.sms, timeline);
  Execution<TimedClock> execution(problem, tiles, schedule, schedule.sms, clock);
  if (!execution.run()) {
    throw BadInput(fmt::format("schedule {}: deadlocks; `dashlab verify` names the cycle", schedule.name));
  }
  Simulation sim = clock.result();
  if (timeline) {
    timeline->ticks_per_unit = sim.ticks_per_unit;
    timeline->makespan = sim.makespan;
    finish_timeline(*timeline, schedule.dq_mode, costs.overlap_depth);
  }
  return sim;
}

}  // namespace dashlab
