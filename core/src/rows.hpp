// The adds of a timeline row by row, in linear time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dashlab/core/timeline.hpp"

namespace dashlab {

/// Indices of tasks grouped by (head, q), each group in the order of its adds: by start, then rank, then SM.
class TimelineRows {
 public:
  explicit TimelineRows(const std::vector<TaskSpan>& tasks);

  [[nodiscard]] std::size_t count() const noexcept { return begin_.size() - 1; }
  [[nodiscard]] std::span<const std::size_t> row(std::size_t i) const noexcept {
    return {order_.data() + begin_[i], order_.data() + begin_[i + 1]};
  }

 private:
  std::vector<std::size_t> begin_;
  std::vector<std::size_t> order_;
};

}  // namespace dashlab
