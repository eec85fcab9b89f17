// Shift (DASH, full masks): every chain starts one q tile further and runs on cyclically, so that chains that
// run side by side never meet in a row. Here for any number of tiles, SMs and heads, and for block-diagonal
// masks.
#include <fmt/format.h>

#include <algorithm>

#include "components.hpp"
#include "dashlab/core/error.hpp"
#include "schedulers.hpp"

namespace dashlab {
namespace {

using StartOf = std::size_t (*)(std::size_t chain, std::size_t in_flight, std::size_t q_tiles);

void require_blocks(const TileMap& tiles, const Component& component, std::string_view name) {
  const auto first = tiles.column(KvTile{component.front()});
  for (std::uint32_t kv : component) {
    if (std::ranges::equal(tiles.column(KvTile{kv}), first)) continue;
    throw BadInput(fmt::format(
        "--schedule {}: kv tiles {} and {} see different q tiles; it is for full and block-diagonal masks, "
        "use symmetric-shift (causal) or spt",
        name, component.front(), kv));
  }
}

Schedule rotated(const SchedulerInput& in, std::string_view name, StartOf start_of) {
  ScheduleBuilder builder = in.builder(name);
  std::vector<Unit> units;
  const auto parts = components(in.tiles);
  for (const Component& part : parts) require_blocks(in.tiles, part, name);
  for (std::uint32_t owner = 0; owner < builder.owners(); ++owner) {
    for (const Component& part : parts) {
      const std::size_t in_flight = std::min<std::size_t>(part.size(), in.options.sms);
      for (std::size_t i = 0; i < part.size(); ++i) {
        const auto column = in.tiles.column(KvTile{part[i]});
        PlannedChain chain{owner, part[i], {column.begin(), column.end()}};
        const std::size_t start = start_of(i, in_flight, column.size());
        const auto first = chain.q_order.begin();
        std::rotate(first, first + static_cast<std::ptrdiff_t>(start), chain.q_order.end());
        units.push_back({{std::move(chain)}});
      }
    }
  }
  builder.place_statically(std::move(units));
  builder.reduce_by_arrival();
  return builder.finish();
}

}  // namespace

Schedule shift(const SchedulerInput& in) {
  return rotated(in, "shift",
                 [](std::size_t chain, std::size_t, std::size_t q_tiles) { return chain % q_tiles; });
}

Schedule shift_spread(const SchedulerInput& in) {
  return rotated(in, "shift-spread", [](std::size_t chain, std::size_t in_flight, std::size_t q_tiles) {
    return chain % in_flight * q_tiles / in_flight;
  });
}

}  // namespace dashlab
