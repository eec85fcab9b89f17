#include "dashlab/core/optimize.hpp"

#include <algorithm>
#include <array>

#include "annealing.hpp"
#include "arrival_run.hpp"
#include "dashlab/core/bounds.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/core/simulate.hpp"
#include "placements.hpp"
#include "step_orders.hpp"

namespace dashlab {
namespace {

// One pass, deterministic.
constexpr std::array<std::string_view, 6> starts{"shift",      "symmetric-shift", "spt",
                                                 "descending", "ascending",       "shift-spread"};
// Steps times rows: the table of the tabu search, two bytes each.
constexpr std::uint64_t most_cells = 1U << 26;

class Optimizer {
 public:
  Optimizer(std::string_view name, const Problem& problem, const TileMap& tiles,
            const OptimizeOptions& options)
      : name_(name), problem_(problem), tiles_(tiles), options_(options), costs_(options.costs) {
    costs_.jitter.reset();
  }

  Optimized run() {
    result_.lower_bound =
        lower_bounds(problem_, tiles_, options_.sms, costs_, {options_.group_mode, DqMode::ordered}).best();
    try_named();
    const std::uint64_t tasks = tiles_.tasks_per_head() * static_cast<std::uint64_t>(problem_.total_heads());
    if (tasks > 0 && tasks <= most_searched_tasks && !good_enough()) search(tasks);
    result_.schedule.name = name_;
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool good_enough() const {
    return result_.makespan == result_.lower_bound ||
           result_.makespan.value() <= result_.lower_bound.value() * (1 + options_.gap);
  }
  [[nodiscard]] bool keep_going() const {
    return !options_.keep_going ||
           options_.keep_going({result_.makespan, result_.lower_bound, result_.rounds});
  }

  void try_named() {
    for (const std::string_view start : starts) {
      try {
        Schedule schedule = make_schedule(start, problem_, tiles_, {options_.sms, options_.group_mode});
        Simulation simulation = simulate(problem_, tiles_, schedule, costs_);
        if (!result_.best_named.empty() && simulation.makespan_units() >= result_.makespan) continue;
        result_.makespan = result_.best_named_makespan = simulation.makespan_units();
        result_.best_named = start;
        result_.schedule = std::move(schedule);
        sm_of_chain_ = std::move(simulation.sm_of_chain);
      } catch (const BadInput&) {
        continue;  // no meaning for this problem
      }
      if (good_enough() || !keep_going()) return;
    }
  }

  void search(std::uint64_t tasks) {
    ArrivalRun run(problem_, tiles_, options_.group_mode, costs_);
    const auto ticks = [&](const Rational& units) {
      const Rational exact = units * Rational(run.ticks_per_unit());
      return (exact.num() + exact.den() - 1) / exact.den();
    };
    enough_ = static_cast<std::int64_t>(static_cast<double>(ticks(result_.lower_bound)) * (1 + options_.gap));
    best_ = ticks(result_.makespan);
    std::vector<Walk> walks = all_walks(problem_, tiles_, options_.group_mode);
    std::vector<std::int64_t> work;
    for (const Walk& walk : walks) work.push_back(run.work(walk));
    const Placements placements(std::move(walks), std::move(work), options_.sms);
    // With equal tasks ordering cannot do better than the packing, and the search for a better packing has
    // given up.
    const bool equal_tasks = costs_.compute_partial.value_or(costs_.compute) == costs_.compute;
    const std::int64_t packed = placements.length() + run.last_add();
    if (equal_tasks) enough_ = std::max(enough_, packed);
    const std::uint64_t runs =
        std::clamp<std::uint64_t>(anneal_tasks / (tasks + options_.sms), 1, anneal_runs);
    Random random(options_.seed);
    Walks annealed = walks_of(tiles_, result_.schedule, sm_of_chain_);

    const std::function<bool()> going = [this] { return keep_going(); };
    while (result_.rounds < options_.rounds && best_ > enough_ && keep_going()) {
      Walks walks_now = placements(result_.rounds++, random);
      order_by_steps(walks_now, rows(), run.lead_in_tasks(), random,
                     cells(walks_now, run.lead_in_tasks()) <= most_cells ? patience : 0, going);
      keep(walks_now, run);
      if (best_ <= enough_ || result_.rounds % 4 != 0) continue;
      anneal(annealed, run, random, runs, enough_, going);
      keep(annealed, run);
      annealed = best_walks_.empty() ? annealed : best_walks_;
    }
    result_.at_packing = equal_tasks && best_ <= packed;
  }

  void keep(const Walks& walks, ArrivalRun& run) {
    const std::int64_t makespan = run(walks);
    if (makespan >= best_) return;
    best_ = makespan;
    best_walks_ = walks;
    result_.makespan = Rational(makespan, run.ticks_per_unit());
    result_.schedule = to_schedule(name_, problem_, tiles_, options_.group_mode, walks, run.orders());
  }

  [[nodiscard]] std::size_t rows() const {
    return static_cast<std::size_t>(problem_.total_heads()) * tiles_.q_tiles();
  }
  [[nodiscard]] std::uint64_t cells(const Walks& walks, std::uint32_t lead) const {
    std::uint64_t steps = 0;
    for (const auto& list : walks) {
      std::uint64_t sum = 0;
      for (const Walk& walk : list) sum += lead + walk.rows.size();
      steps = std::max(steps, sum);
    }
    return steps * rows();
  }

  static constexpr std::uint64_t patience = 200'000;
  static constexpr std::uint64_t anneal_runs = 4'000;
  static constexpr std::uint64_t anneal_tasks = 20'000'000;  // simulated in all runs together

  std::string name_;
  const Problem& problem_;
  const TileMap& tiles_;
  const OptimizeOptions& options_;
  Costs costs_;
  Optimized result_;
  std::vector<std::uint32_t> sm_of_chain_;
  std::int64_t best_ = 0;
  std::int64_t enough_ = 0;
  Walks best_walks_;
};

}  // namespace

Optimized optimize(std::string_view name, const Problem& problem, const TileMap& tiles,
                   const OptimizeOptions& options) {
  return Optimizer(name, problem, tiles, options).run();
}

}  // namespace dashlab
