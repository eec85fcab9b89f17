#include "placements.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace dashlab {

Placements::Placements(std::vector<Walk> walks, std::vector<std::int64_t> work, std::uint32_t sms)
    : walks_(std::move(walks)), work_(std::move(work)), sms_(sms), packing_(packing_interval(work_, sms)) {
  auto ordered = head_by_head();
  std::vector<std::int64_t> loads(sms, 0);
  for (std::size_t i = 0; i < ordered.size(); ++i) loads[ordered[i]] += work_[i];
  if (std::ranges::max(loads) <= packing_.upper) packing_.sm_of_chain = std::move(ordered);
}

// One head after the other, its longest walks first, each to the SM with the least work so far.
std::vector<std::uint32_t> Placements::head_by_head() const {
  std::vector<std::size_t> order(walks_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return walks_[a].owner != walks_[b].owner ? walks_[a].owner < walks_[b].owner : work_[a] > work_[b];
  });
  std::vector<std::int64_t> loads(sms_, 0);
  std::vector<std::uint32_t> sm_of(walks_.size());
  for (std::size_t i : order) {
    const auto least = std::ranges::min_element(loads);
    sm_of[i] = static_cast<std::uint32_t>(least - loads.begin());
    *least += work_[i];
  }
  return sm_of;
}

Walks Placements::operator()(std::uint64_t round, Random& random) const {
  std::vector<std::uint32_t> sm_of = packing_.sm_of_chain;
  if (round > 0) {
    std::map<std::int64_t, std::vector<std::size_t>> equals;
    for (std::size_t i = 0; i < work_.size(); ++i) equals[work_[i]].push_back(i);
    for (auto& [work, items] : equals) {
      std::vector<std::size_t> mixed = items;
      random.shuffle(mixed);
      for (std::size_t i = 0; i < items.size(); ++i) sm_of[items[i]] = packing_.sm_of_chain[mixed[i]];
    }
  }
  std::vector<std::vector<std::size_t>> lists(sms_);
  for (std::size_t i = 0; i < walks_.size(); ++i) lists[sm_of[i]].push_back(i);
  Walks result(sms_);
  for (std::uint32_t sm = 0; sm < sms_; ++sm) {
    auto& list = lists[sm];
    if (round > 0) random.shuffle(list);
    if (round % 2 == 0) {
      std::ranges::stable_sort(list, {}, [&](std::size_t i) { return walks_[i].owner; });
    }
    for (std::size_t i : list) result[sm].push_back(walks_[i]);
  }
  return result;
}

}  // namespace dashlab
