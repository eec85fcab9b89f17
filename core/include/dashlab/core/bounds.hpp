// What no schedule can beat, and what the named ones are known to reach.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dashlab/core/costs.hpp"
#include "dashlab/core/problem.hpp"
#include "dashlab/core/schedule.hpp"

namespace dashlab {

/// Lower bounds on the makespan of any schedule that keeps chains whole, in units of cost. They hold for any
/// link latency; jitter is left out of account.
struct LowerBounds {
  Rational work;           ///< all work over all SMs
  Rational longest_chain;  ///< the costliest chain: it runs on one SM
  Rational longest_row;    ///< first compute, then the adds of the row with the most tiles, one after another
  Rational packing;        ///< best packing of whole chains onto SMs: a certified lower bound
  Rational packing_upper;  ///< a packing that was found; equal to `packing` where the packing bound is exact
  /// The packing was solved to the end.
  [[nodiscard]] bool packing_exact() const { return packing == packing_upper; }
  /// The largest of the bounds.
  [[nodiscard]] Rational best() const;
};

/// What the bounds depend on beside problem, SMs and costs.
struct BoundsOptions {
  GroupMode group_mode = GroupMode::per_head;
  DqMode dq_mode =
      DqMode::ordered;  ///< arrival: rows are no bound; second_pass: chains of both passes, no adds
};

/// Linear in the tile map, plus a bounded search for the packing.
LowerBounds lower_bounds(const Problem& problem, const TileMap& tiles, std::uint32_t sms, const Costs& costs,
                         const BoundsOptions& options = {});

/// A makespan known in closed form.
struct ClosedForm {
  Rational makespan;
  std::string formula;  ///< with m heads, n tiles, x = c + r
};

/// The closed form of a named schedule, where one is known (docs/schedules.md): serial model, link 0, no
/// jitter, no separate cost of partial tiles, one kv head per q head.
std::optional<ClosedForm> closed_form(std::string_view schedule, const Problem& problem, std::uint32_t sms,
                                      const Costs& costs);

}  // namespace dashlab
