// Symmetric shift (DASH, causal masks): a long and a short chain share an SM, so that all SMs get equal work,
// and their orders are arranged so that no two ever meet in a row. Here for any tile counts, SMs and heads.
//
// A component of n kv tiles, whose tile j sees the rows first(j) .. last: long column j walks the rectangle
// below row R cyclically from R + j, then the triangle above it; the short column that follows runs from the
// last row up.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "components.hpp"
#include "dashlab/core/error.hpp"
#include "schedulers.hpp"

namespace dashlab {
namespace {

// An odd number of columns leaves one without a partner. share_middle: the middle chains of two heads share
// an SM (units of n + 1 tasks). lone_first: tile s is paired with n - s and tile 0 stays alone (units of n
// tasks).
enum class OddLayout : std::uint8_t { share_middle, lone_first };

void require_causal(const TileMap& tiles, const Component& part) {
  for (std::size_t j = 0; j < part.size(); ++j) {
    const auto column = tiles.column(KvTile{part[j]});
    const auto previous = tiles.column(KvTile{part[j == 0 ? 0 : j - 1]});
    const bool contiguous = column.back() - column.front() + 1 == column.size();
    if (contiguous && column.back() == previous.back() && column.front() >= previous.front()) continue;
    throw BadInput(
        fmt::format("--schedule symmetric-shift: kv tile {} does not see all q tiles from its first to the "
                    "last; it is for causal "
                    "masks, use spt or descending",
                    part[j]));
  }
}

class ComponentPlan {
 public:
  ComponentPlan(const TileMap& tiles, const Component& part, OddLayout layout) : tiles_(tiles), part_(part) {
    const std::size_t n = part.size();
    const bool odd = n % 2 == 1;
    pairs_ = n / 2;
    lone_first_ = odd && layout == OddLayout::lone_first;
    has_middle_ = odd && !lone_first_;
    const std::size_t last_in_rectangle = odd ? n / 2 : n / 2 - 1;
    rectangle_ = tiles.column(KvTile{part[last_in_rectangle]}).front();
  }

  [[nodiscard]] bool has_middle() const noexcept { return has_middle_; }

  // The units of one head without its middle chain.
  [[nodiscard]] std::vector<Unit> pair_units(std::uint32_t owner) const {
    std::vector<Unit> units;
    if (lone_first_) units.push_back({{long_chain(owner, 0)}});
    for (std::size_t i = 0; i < pairs_; ++i) {
      const std::size_t j = lone_first_ ? i + 1 : i;
      const std::size_t partner = lone_first_ ? part_.size() - j : part_.size() - 1 - j;
      units.push_back({{long_chain(owner, j), short_chain(owner, partner)}});
    }
    return units;
  }
  [[nodiscard]] PlannedChain rotated_middle(std::uint32_t owner) const { return long_chain(owner, pairs_); }
  [[nodiscard]] PlannedChain descending_middle(std::uint32_t owner) const {
    return short_chain(owner, pairs_);
  }

 private:
  [[nodiscard]] PlannedChain long_chain(std::uint32_t owner, std::size_t j) const {
    const std::uint32_t kv = part_[j];
    const auto column = tiles_.column(KvTile{kv});
    const std::uint32_t height = column.back() - rectangle_ + 1;
    PlannedChain chain{owner, kv, {}};
    chain.q_order.reserve(column.size());
    for (std::uint32_t i = 0; i < height; ++i) {
      chain.q_order.push_back(rectangle_ + static_cast<std::uint32_t>((j + i) % height));
    }
    for (std::uint32_t q = column.front(); q < rectangle_; ++q) chain.q_order.push_back(q);
    return chain;
  }
  [[nodiscard]] PlannedChain short_chain(std::uint32_t owner, std::size_t j) const {
    const auto column = tiles_.column(KvTile{part_[j]});
    return {owner, part_[j], {column.rbegin(), column.rend()}};
  }

  const TileMap& tiles_;
  const Component& part_;
  std::size_t pairs_ = 0;
  bool lone_first_ = false;
  bool has_middle_ = false;
  std::uint32_t rectangle_ = 0;  // R: first row of the rectangle
};

std::vector<Unit> all_units(const TileMap& tiles, const std::vector<Component>& parts, std::uint32_t owners,
                            OddLayout layout) {
  std::vector<Unit> units;
  const auto append = [&](std::vector<Unit> more) { std::ranges::move(more, std::back_inserter(units)); };
  for (std::uint32_t owner = 0; owner < owners; ++owner) {
    for (const Component& part : parts) {
      const ComponentPlan plan(tiles, part, layout);
      if (!plan.has_middle()) {
        append(plan.pair_units(owner));
      } else if (owner % 2 == 0) {
        append(plan.pair_units(owner));
        Unit middle{{plan.rotated_middle(owner)}};
        if (owner + 1 < owners) middle.chains.push_back(plan.descending_middle(owner + 1));
        units.push_back(std::move(middle));
      } else {
        append(plan.pair_units(owner));
      }
    }
  }
  return units;
}

std::uint64_t makespan_in_tasks(const std::vector<Unit>& units, std::uint32_t sms) {
  std::vector<std::size_t> tasks(units.size());
  std::ranges::transform(units, tasks.begin(), &Unit::tasks);
  return std::ranges::max(loads_after_placing(std::move(tasks), sms));
}

}  // namespace

Schedule symmetric_shift(const SchedulerInput& in) {
  ScheduleBuilder builder = in.builder("symmetric-shift");
  const auto parts = components(in.tiles);
  for (const Component& part : parts) require_causal(in.tiles, part);
  auto units = all_units(in.tiles, parts, builder.owners(), OddLayout::share_middle);
  const bool odd_and_crowded = std::ranges::any_of(
      parts, [&](const Component& part) { return part.size() % 2 == 1 && part.size() > in.options.sms; });
  if (odd_and_crowded) {
    auto alternative = all_units(in.tiles, parts, builder.owners(), OddLayout::lone_first);
    if (makespan_in_tasks(alternative, in.options.sms) < makespan_in_tasks(units, in.options.sms)) {
      units = std::move(alternative);
    }
  }
  builder.place_statically(std::move(units));
  builder.reduce_by_arrival();
  return builder.finish();
}

}  // namespace dashlab
