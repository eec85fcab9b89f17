// A schedule as data: q orders, reduce orders and placement, in flat arrays of about 8 bytes a task.
// Any schedule can be held, also a wrong one; the verifier (verify.hpp) judges it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dashlab/core/problem.hpp"
#include "dashlab/core/tile_map.hpp"

namespace dashlab {

/// static_lists: each SM has its own list of chains. dynamic: one queue, the next chain goes to the SM that
/// is free first, as a GPU launches CTAs.
enum class Placement : std::uint8_t { static_lists, dynamic };

/// How dQ is summed: by rank along the reduce orders; by atomics in arrival order (not deterministic); or in
/// a second pass of chains that own a q tile each and walk its kv tiles (no reduce at all).
enum class DqMode : std::uint8_t { ordered, arrival, second_pass };

/// How the q heads of a grouped-query group share dK and dV of their kv head. Without grouping: per_head.
/// per_head: one chain per q head; the group's dK/dV partials are added in an order of their own.
/// gathered: one chain per kv head that walks all q heads of the group.
enum class GroupMode : std::uint8_t { per_head, gathered };

/// One chain. Of pass 1: `tile` is a kv tile and the steps are q tiles. Of the second pass (two-pass only):
/// `tile` is a q tile and the steps are kv tiles.
struct Chain {
  std::uint32_t head = 0;  ///< q head (per_head) or kv head (gathered), over the whole batch
  std::uint32_t tile = 0;
  bool second_pass = false;
  friend bool operator==(const Chain&, const Chain&) = default;
};

/// q orders + reduce orders + placement.
struct Schedule {
  std::string name;
  Placement placement = Placement::dynamic;
  DqMode dq_mode = DqMode::ordered;
  GroupMode group_mode = GroupMode::per_head;
  std::uint32_t sms = 1;

  /// Chains in launch order (dynamic), or SM after SM (static).
  std::vector<Chain> chains;
  /// chains[i] runs steps[chain_begin[i] .. chain_begin[i+1]) in order. Size chains + 1.
  std::vector<std::uint64_t> chain_begin{0};
  std::vector<std::uint32_t> steps;
  /// The q head of each step, for gathered chains only; else empty.
  std::vector<std::uint32_t> step_head;
  /// Static placement: SM s runs chains[sm_begin[s] .. sm_begin[s+1]). Size sms + 1. Empty when dynamic.
  std::vector<std::uint64_t> sm_begin;

  /// Reduce order of row (head, q) at index head * q_tiles + q: kv tiles
  /// reduce_kv[row_begin[row] .. row_begin[row+1]), first to add first. Empty unless dq_mode is ordered.
  std::vector<std::uint64_t> row_begin;
  std::vector<std::uint32_t> reduce_kv;

  /// per_head grouped-query only: the order in which a group's q heads add dK and dV, at index
  /// (kv head * kv_tiles + kv) * group_size. q heads over the whole batch. Else empty.
  std::vector<std::uint32_t> group_order;

  /// The steps of one chain: q tiles in order (kv tiles in a second pass).
  [[nodiscard]] std::span<const std::uint32_t> chain_steps(std::size_t chain) const noexcept {
    return {steps.data() + chain_begin[chain], steps.data() + chain_begin[chain + 1]};
  }
  /// The kv tiles of row head * q_tiles + q, first to add first.
  [[nodiscard]] std::span<const std::uint32_t> reduce_order(std::size_t row) const noexcept {
    return {reduce_kv.data() + row_begin[row], reduce_kv.data() + row_begin[row + 1]};
  }
  /// q head of step number `step` (an index into `steps`) of chain `chain`.
  [[nodiscard]] std::uint32_t head_of_step(std::size_t chain, std::uint64_t step) const noexcept {
    return step_head.empty() ? chains[chain].head : step_head[step];
  }
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// What a named schedule needs to know beside the problem.
struct ScheduleOptions {
  std::uint32_t sms = 1;
  GroupMode group_mode = GroupMode::per_head;
};

/// The names make_schedule knows, in the order of the documentation.
std::span<const std::string_view> schedule_names();

/// Builds a named schedule (docs/schedules.md describes each). Throws BadInput for an unknown name, and for a
/// schedule that has no meaning for the problem, with the reason.
Schedule make_schedule(std::string_view name, const Problem& problem, const TileMap& tiles,
                       const ScheduleOptions& options);

}  // namespace dashlab
