// Packing whole chains onto SMs: the scheduling problem P||Cmax, as an interval that is exact when it can be.
#pragma once

#include <cstdint>
#include <vector>

namespace dashlab {

struct PackingInterval {
  std::int64_t lower = 0;                  ///< no packing is shorter
  std::int64_t upper = 0;                  ///< a packing of this length was found
  std::vector<std::uint32_t> sm_of_chain;  ///< that packing
};

/// `sizes` are the chains' costs in ticks. Closes the interval with a search of at most `nodes` steps.
PackingInterval packing_interval(const std::vector<std::int64_t>& sizes, std::uint32_t sms,
                                 std::uint64_t nodes = 200'000);

}  // namespace dashlab
