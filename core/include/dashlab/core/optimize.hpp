// Searches a schedule whose makespan comes near the lower bound: placement, q orders and reduce orders.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "dashlab/core/costs.hpp"
#include "dashlab/core/problem.hpp"
#include "dashlab/core/schedule.hpp"

namespace dashlab {

/// How far a search has come. Makespans in units of cost.
struct OptimizeProgress {
  Rational makespan;         ///< the best so far
  Rational lower_bound;      ///< LowerBounds::best()
  std::uint64_t rounds = 0;  ///< placements tried
};

/// What to search for, and how long.
struct OptimizeOptions {
  std::uint32_t sms = 1;
  GroupMode group_mode = GroupMode::per_head;
  Costs costs;             ///< jitter is left out of account
  std::uint64_t seed = 0;  ///< the same seed and rounds give the same schedule on every machine
  double gap = 0;          ///< enough when the makespan is at most (1 + gap) times the bound
  std::uint64_t rounds = 16;
  /// Called now and then; false ends the search with the best so far.
  std::function<bool(const OptimizeProgress&)> keep_going;
};

/// The outcome of a search. The makespan of `schedule` under the costs is `makespan`, exactly.
struct Optimized {
  Schedule schedule;
  Rational makespan;
  Rational lower_bound;
  std::uint64_t rounds = 0;  ///< placements tried; 0 where a named schedule was good enough
  std::string best_named;    ///< the shortest named schedule, where the search began
  Rational best_named_makespan;
  /// Tasks are equal and nobody waits: only a better packing of the chains would be shorter.
  bool at_packing = false;
  /// Nothing is shorter: the makespan is the lower bound.
  [[nodiscard]] bool optimal() const { return makespan == lower_bound; }
};

/// Problems with more tasks are not searched.
inline constexpr std::uint64_t most_searched_tasks = 1U << 20;

/// The best of the named one-pass schedules and of what a search finds: placements at the packing bound, rows
/// ordered so that no two SMs meet (edge colouring by matchings and tabu search), and annealing under the
/// real costs for what that leaves. Never longer than the best named schedule. Problems above
/// most_searched_tasks get the best named one. Throws BadInput as make_schedule and simulate do.
Optimized optimize(std::string_view name, const Problem& problem, const TileMap& tiles,
                   const OptimizeOptions& options);

}  // namespace dashlab
