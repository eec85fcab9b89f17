// Local search for a shorter packing, where longest-first and a bounded exact search leave a gap.
#pragma once

#include <cstdint>
#include <vector>

namespace dashlab {

/// Moves and swaps items until no SM has more than `target`; `sm_of` (SM of each size) holds the outcome.
/// False, with sm_of unspecified, when `looks` pairs of items were looked at in vain. The same on every
/// machine.
bool improve_packing(const std::vector<std::int64_t>& sizes, std::uint32_t sms, std::int64_t target,
                     std::vector<std::uint32_t>& sm_of, std::uint64_t looks);

}  // namespace dashlab
