#include "dashlab/core/bounds.hpp"

#include <algorithm>
#include <numeric>

#include "packing.hpp"
#include "tick_costs.hpp"

namespace dashlab {
namespace {

// Compute ticks and adds of every chain.
struct ChainLoad {
  std::int64_t compute = 0;
  std::int64_t adds = 0;
};

class Loads {
 public:
  Loads(const Problem& problem, const TileMap& tiles, const TickCosts& ticks, const BoundsOptions& options)
      : problem_(problem), tiles_(tiles), ticks_(ticks) {
    const bool grouped = problem.group_size() > 1;
    const bool gathered = options.group_mode == GroupMode::gathered && grouped;
    const std::int64_t walks = gathered ? problem.group_size() : 1;
    const std::int64_t owners = problem.batch * (gathered ? problem.kv_heads : problem.heads);
    const bool second = options.dq_mode == DqMode::second_pass;
    for (std::uint32_t kv = 0; kv < tiles.kv_tiles(); ++kv) {
      const auto classes = tiles.column_classes(KvTile{kv});
      if (classes.empty()) continue;
      ChainLoad load{ticks.chain + walks * compute_of(classes) * (second ? 4 : 5) / 5, 0};
      if (!second) load.adds = walks * static_cast<std::int64_t>(classes.size());
      if (grouped && !gathered) ++load.adds;  // the ordered add of dK and dV
      append(load, owners);
    }
    if (second) append_second_pass();
  }

  [[nodiscard]] const std::vector<ChainLoad>& chains() const noexcept { return chains_; }

 private:
  [[nodiscard]] std::int64_t compute_of(std::span<const TileClass> classes) const {
    const auto partial = std::ranges::count(classes, TileClass::partial);
    return partial * ticks_.compute_partial + (std::ssize(classes) - partial) * ticks_.compute;
  }
  void append(const ChainLoad& load, std::int64_t count) {
    chains_.insert(chains_.end(), static_cast<std::size_t>(count), load);
  }
  void append_second_pass() {
    for (std::uint32_t q = 0; q < tiles_.q_tiles(); ++q) {
      std::int64_t compute = 0;
      for (std::uint32_t kv : tiles_.row(QTile{q})) {
        compute +=
            tiles_.at(QTile{q}, KvTile{kv}) == TileClass::partial ? ticks_.compute_partial : ticks_.compute;
      }
      if (compute > 0) append({ticks_.chain + compute * 3 / 5, 0}, problem_.total_heads());
    }
  }

  const Problem& problem_;
  const TileMap& tiles_;
  const TickCosts& ticks_;
  std::vector<ChainLoad> chains_;
};

}  // namespace

Rational LowerBounds::best() const {
  return std::max({work, longest_chain, longest_row, packing});
}

LowerBounds lower_bounds(const Problem& problem, const TileMap& tiles, std::uint32_t sms, const Costs& costs,
                         const BoundsOptions& options) {
  Costs plain = costs;
  plain.jitter.reset();
  const TickCosts ticks = in_ticks(plain, options.dq_mode);
  const bool serial = costs.overlap_depth == 0;
  const Loads loads(problem, tiles, ticks, options);
  if (loads.chains().empty()) return {};

  // Serial: an SM computes and adds in turn. Overlapped: each of the two engines is a packing of its own; the
  // last add follows the last compute.
  std::vector<std::int64_t> sizes;
  std::int64_t work = 0;
  for (const ChainLoad& chain : loads.chains()) {
    sizes.push_back(chain.compute + (serial ? chain.adds * ticks.reduce : 0));
    work += sizes.back();
  }
  const std::int64_t last_add = serial || options.dq_mode == DqMode::second_pass ? 0 : ticks.reduce;
  const std::int64_t longest = std::ranges::max(sizes) + last_add;
  const PackingInterval packing = packing_interval(sizes, sms);
  std::size_t longest_row = 0;
  for (std::uint32_t q = 0; q < tiles.q_tiles(); ++q)
    longest_row = std::max(longest_row, tiles.row(QTile{q}).size());

  const auto units = [&](std::int64_t value) { return Rational(value, ticks.per_unit); };
  LowerBounds bounds;
  bounds.work = units(work) / Rational(sms);
  bounds.longest_chain = units(longest);
  bounds.packing = units(packing.lower + last_add);
  bounds.packing_upper = units(packing.upper + last_add);
  if (options.dq_mode == DqMode::ordered) {
    bounds.longest_row = units(ticks.chain + std::min(ticks.compute, ticks.compute_partial) +
                               static_cast<std::int64_t>(longest_row) * ticks.reduce);
  }
  return bounds;
}

}  // namespace dashlab
