// Applies the mask to scores: what a query may not see becomes -inf.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <variant>

#include "dashlab/core/problem.hpp"

namespace dashlab {

/// `s` holds the scores of query `q` against keys first_key, first_key + 1, ... For tiles that the mask cuts;
/// a block mask cuts none.
inline void mask_row(const Problem& problem, std::int64_t q, std::int64_t first_key, std::span<float> s) {
  if (std::holds_alternative<BlocksMask>(problem.mask)) return;
  constexpr float hidden = -std::numeric_limits<float>::infinity();
  const auto size = static_cast<std::int64_t>(s.size());
  const KeyRange keys = visible_keys(problem, q);
  const std::int64_t begin = std::clamp<std::int64_t>(keys.begin - first_key, 0, size);
  const std::int64_t end = std::clamp<std::int64_t>(keys.end - first_key, begin, size);
  std::fill(s.begin(), s.begin() + begin, hidden);
  std::fill(s.begin() + end, s.end(), hidden);
}

}  // namespace dashlab
