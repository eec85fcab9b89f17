#include "rows.hpp"

#include <algorithm>
#include <tuple>

namespace dashlab {

TimelineRows::TimelineRows(const std::vector<TaskSpan>& tasks) : begin_(1, 0), order_(tasks.size()) {
  std::size_t q_tiles = 0;
  std::size_t heads = 0;
  for (const TaskSpan& t : tasks) {
    q_tiles = std::max<std::size_t>(q_tiles, index(t.q) + 1);
    heads = std::max<std::size_t>(heads, index(t.head) + 1);
  }
  const auto row_of = [&](const TaskSpan& t) { return index(t.head) * q_tiles + index(t.q); };
  begin_.resize(heads * q_tiles + 1, 0);
  for (const TaskSpan& t : tasks) ++begin_[row_of(t) + 1];
  for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t i = 0; i < tasks.size(); ++i) order_[next[row_of(tasks[i])]++] = i;
  for (std::size_t i = 0; i < count(); ++i) {
    const auto first = order_.begin() + static_cast<std::ptrdiff_t>(begin_[i]);
    const auto last = order_.begin() + static_cast<std::ptrdiff_t>(begin_[i + 1]);
    std::sort(first, last, [&](std::size_t a, std::size_t b) {
      const auto key = [](const TaskSpan& t) { return std::tuple(t.reduce_start, t.rank, index(t.sm)); };
      return key(tasks[a]) < key(tasks[b]);
    });
  }
}

}  // namespace dashlab
