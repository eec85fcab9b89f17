// How large the numbers of a problem may be, for the checks of a whole problem and of single flags.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace dashlab {

/// Tiles of a sequence, and heads of all batch entries: ids have 32 bits.
constexpr std::int64_t max_count = std::numeric_limits<std::uint32_t>::max() - 1;

/// Tiles or tokens of one sequence.
constexpr std::int64_t max_length(bool in_tiles) {
  return in_tiles ? max_count : std::int64_t{1} << 40;
}

/// Throws BadInput naming the flag unless low <= value <= high.
void check_range(std::string_view flag, std::int64_t value, std::int64_t low, std::int64_t high);

}  // namespace dashlab
