#include "packing.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

namespace dashlab {
namespace {

// Longest processing time first: the classic upper bound.
std::int64_t longest_first(const std::vector<std::int64_t>& sizes, std::uint32_t sms) {
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> loads;
  for (std::uint32_t sm = 0; sm < sms; ++sm) loads.push(0);
  std::int64_t longest = 0;
  for (std::int64_t size : sizes) {
    const std::int64_t load = loads.top() + size;
    loads.pop();
    loads.push(load);
    longest = std::max(longest, load);
  }
  return longest;
}

// Bounds that need no search. Of the k*S + 1 largest chains some SM gets k + 1, at best the smallest of them.
std::int64_t simple_lower_bound(const std::vector<std::int64_t>& sizes, std::uint32_t sms,
                                std::int64_t unit) {
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  const std::int64_t per_sm = (total + sms - 1) / sms;
  std::int64_t bound = std::max((per_sm + unit - 1) / unit * unit, sizes.front());
  std::vector<std::int64_t> running(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), running.begin() + 1);
  for (std::size_t k = 1; k * sms < sizes.size(); ++k) {
    const std::size_t end = k * sms + 1;
    bound = std::max(bound, running[end] - running[end - (k + 1)]);
  }
  return bound;
}

// Depth-first bin packing with a fixed capacity; equal loads are tried once.
class FitSearch {
 public:
  FitSearch(const std::vector<std::int64_t>& sizes, std::uint32_t sms, std::int64_t capacity,
            std::uint64_t& nodes)
      : sizes_(sizes), capacity_(capacity), nodes_(nodes), loads_(sms, 0), rest_(sizes.size() + 1, 0) {
    for (std::size_t i = sizes.size(); i-- > 0;) rest_[i] = rest_[i + 1] + sizes[i];
  }
  enum class Outcome : std::uint8_t { fits, impossible, unknown };
  Outcome run() {
    if (place(0)) return Outcome::fits;
    return nodes_ == 0 ? Outcome::unknown : Outcome::impossible;
  }

 private:
  bool place(std::size_t item) {
    if (item == sizes_.size()) return true;
    if (nodes_ == 0) return false;
    --nodes_;
    std::int64_t room = 0;
    for (std::int64_t load : loads_) room += capacity_ - load;
    if (room < rest_[item]) return false;
    std::vector<std::int64_t> tried;
    for (auto& load : loads_) {
      if (load + sizes_[item] > capacity_ || std::ranges::find(tried, load) != tried.end()) continue;
      tried.push_back(load);
      load += sizes_[item];
      const bool done = place(item + 1);
      load -= sizes_[item];
      if (done) return true;
      if (load == 0) break;  // empty SMs are all alike
    }
    return false;
  }

  const std::vector<std::int64_t>& sizes_;
  std::int64_t capacity_;
  std::uint64_t& nodes_;
  std::vector<std::int64_t> loads_;
  std::vector<std::int64_t> rest_;
};

}  // namespace

PackingInterval packing_interval(std::vector<std::int64_t> sizes, std::uint32_t sms, std::uint64_t nodes) {
  if (sizes.empty()) return {};
  std::ranges::sort(sizes, std::greater<>{});
  std::int64_t unit = 0;
  for (std::int64_t size : sizes) unit = std::gcd(unit, size);
  unit = std::max<std::int64_t>(unit, 1);
  PackingInterval result{simple_lower_bound(sizes, sms, unit), longest_first(sizes, sms)};
  constexpr std::size_t most_items = 400;  // a deeper search would only burn its steps
  if (sizes.size() > most_items) return result;
  while (result.lower < result.upper) {
    switch (FitSearch(sizes, sms, result.lower, nodes).run()) {
      case FitSearch::Outcome::fits:
        result.upper = result.lower;
        break;
      case FitSearch::Outcome::impossible:
        result.lower += unit;  // every load is a multiple of the unit
        break;
      case FitSearch::Outcome::unknown:
        return result;
    }
  }
  return result;
}

}  // namespace dashlab
