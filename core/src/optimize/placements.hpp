// Where chains go before their rows are ordered: packings of whole chains onto SMs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "../packing.hpp"
#include "../random.hpp"
#include "walks.hpp"

namespace dashlab {

class Placements {
 public:
  /// `walks` come owner after owner; `work` are the ticks of each when it runs alone.
  Placements(std::vector<Walk> walks, std::vector<std::int64_t> work, std::uint32_t sms);

  /// The makespan of the placements where nobody waits, in ticks.
  [[nodiscard]] std::int64_t length() const noexcept { return packing_.upper; }

  /// Placement number `round`: windows of 1, 2, 4, ... heads follow each other, and within a window all is
  /// random. Few heads in flight are what caches like; many are easier to order without conflicts.
  [[nodiscard]] Walks operator()(std::uint64_t round, Random& random) const;

 private:
  /// Where the last windows' walks go: to the SM with the least work, or to the fullest that has room.
  enum class Fill : std::uint8_t { emptiest, fullest };

  [[nodiscard]] std::vector<std::uint32_t> pack(std::uint32_t window, Random& random) const;
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> pack_in(const std::vector<std::uint32_t>& window_of,
                                                                  std::uint32_t tail, Fill fill,
                                                                  Random& random) const;

  std::vector<Walk> walks_;
  std::vector<std::int64_t> work_;
  std::uint32_t sms_;
  std::uint32_t owners_;
  PackingInterval packing_;
};

}  // namespace dashlab
