// Ticks of one task of a schedule: tile class, pass and jitter taken into account.
#pragma once

#include "dashlab/core/schedule.hpp"
#include "dashlab/core/timeline.hpp"
#include "tick_costs.hpp"

namespace dashlab {

struct PhaseTicks {
  std::int64_t compute;
  std::int64_t reduce;
};

class TaskCosts {
 public:
  TaskCosts(const TileMap& tiles, const Schedule& schedule, const Costs& costs)
      : tiles_(tiles), schedule_(schedule), costs_(costs), ticks_(in_ticks(costs, schedule.dq_mode)) {}

  [[nodiscard]] const TickCosts& ticks() const noexcept { return ticks_; }

  /// A two-pass task does 4 of the 5 products in the first pass and 3 in the second, and adds nothing.
  [[nodiscard]] PhaseTicks operator()(std::size_t chain_number, std::uint64_t step) const {
    const Chain& chain = schedule_.chains[chain_number];
    std::int64_t compute = ticks_.compute;
    if (ticks_.compute != ticks_.compute_partial) {
      const std::uint32_t other = schedule_.steps[step];
      const TileClass tile = chain.second_pass ? tiles_.at(QTile{chain.tile}, KvTile{other})
                                               : tiles_.at(QTile{other}, KvTile{chain.tile});
      if (tile == TileClass::partial) compute = ticks_.compute_partial;
    }
    std::int64_t reduce = ticks_.reduce;
    if (schedule_.dq_mode == DqMode::second_pass) {
      compute = compute * (chain.second_pass ? 3 : 4) / 5;
      reduce = 0;
    }
    if (step == schedule_.chain_begin[chain_number]) compute += ticks_.chain;
    return costs_.jitter ? jittered({compute, reduce}, step) : PhaseTicks{compute, reduce};
  }

 private:
  [[nodiscard]] PhaseTicks jittered(const PhaseTicks& exact, std::uint64_t step) const;

  const TileMap& tiles_;
  const Schedule& schedule_;
  const Costs& costs_;
  TickCosts ticks_;
};

/// The span of a task without its times and SM.
TaskSpan span_of_task(const Schedule& schedule, std::size_t chain, std::uint64_t step);

}  // namespace dashlab
