// Where chains go before their rows are ordered: packings of whole chains onto SMs.
#pragma once

#include <cstdint>
#include <vector>

#include "../packing.hpp"
#include "random.hpp"
#include "walks.hpp"

namespace dashlab {

class Placements {
 public:
  /// `work` are the ticks of each walk when it runs alone.
  Placements(std::vector<Walk> walks, std::vector<std::int64_t> work, std::uint32_t sms);

  /// Placement number `round`. The first keeps the heads in order, as caches like it; later ones are random:
  /// which of the equally long walks goes where, and in which order an SM runs its walks.
  [[nodiscard]] Walks operator()(std::uint64_t round, Random& random) const;

 private:
  [[nodiscard]] std::vector<std::uint32_t> head_by_head() const;

  std::vector<Walk> walks_;
  std::vector<std::int64_t> work_;
  std::uint32_t sms_;
  PackingInterval packing_;
};

}  // namespace dashlab
