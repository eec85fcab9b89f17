#include "placements.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace dashlab {

Placements::Placements(std::vector<Walk> walks, std::vector<std::int64_t> work, std::uint32_t sms)
    : walks_(std::move(walks)),
      work_(std::move(work)),
      sms_(sms),
      owners_(walks_.empty() ? 0 : walks_.back().owner + 1),
      packing_(packing_interval(work_, sms)) {}

Walks Placements::operator()(std::uint64_t round, Random& random) const {
  const std::uint32_t window = round < 31 ? std::min(owners_, 1U << round) : owners_;
  const std::vector<std::uint32_t> sm_of = pack(window, random);
  std::vector<std::size_t> order(walks_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return walks_[i].owner / window; });
  Walks result(sms_);
  for (std::size_t i : order) result[sm_of[i]].push_back(walks_[i]);
  return result;
}

// A packing as good as the best one known. The fewer of the last windows are packed together, the better they
// keep apart.
std::vector<std::uint32_t> Placements::pack(std::uint32_t window, Random& random) const {
  std::vector<std::uint32_t> window_of(walks_.size());
  for (std::size_t i = 0; i < walks_.size(); ++i) window_of[i] = walks_[i].owner / window;
  const std::uint32_t windows = window_of.empty() ? 0 : window_of.back() + 1;
  for (std::uint32_t tail = 0; tail <= windows; tail = std::max(2 * tail, 1U)) {
    for (const Fill fill : {Fill::emptiest, Fill::fullest}) {
      if (auto sm_of = pack_in(window_of, windows - tail, fill, random)) return std::move(*sm_of);
    }
  }
  // The best packing, with equally long walks changing places.
  std::map<std::int64_t, std::vector<std::size_t>> equals;
  for (std::size_t i = 0; i < work_.size(); ++i) equals[work_[i]].push_back(i);
  std::vector<std::uint32_t> sm_of(walks_.size());
  for (const auto& [work, items] : equals) {
    std::vector<std::size_t> mixed = items;
    random.shuffle(mixed);
    for (std::size_t i = 0; i < items.size(); ++i) sm_of[items[i]] = packing_.sm_of_chain[mixed[i]];
  }
  return sm_of;
}

// One window after the other, its longest walks first, each to the SM with the least work so far. The windows
// from `tail` on count as one. Nothing if a walk has no room below the best packing.
std::optional<std::vector<std::uint32_t>> Placements::pack_in(const std::vector<std::uint32_t>& window_of,
                                                              std::uint32_t tail, Fill fill,
                                                              Random& random) const {
  std::vector<std::size_t> order(walks_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  const auto window = [&](std::size_t i) { return std::min(window_of[i], tail); };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return window(a) != window(b) ? window(a) < window(b) : work_[a] > work_[b];
  });
  std::set<std::pair<std::int64_t, std::uint32_t>> rooms;
  for (std::uint32_t sm = 0; sm < sms_; ++sm) rooms.emplace(packing_.upper, sm);
  std::vector<std::uint32_t> sm_of(walks_.size());
  for (std::size_t i : order) {
    const bool emptiest = window(i) < tail || fill == Fill::emptiest;
    const auto place = emptiest ? std::prev(rooms.end()) : rooms.lower_bound({work_[i], 0});
    if (place == rooms.end() || place->first < work_[i]) return std::nullopt;
    const auto [room, sm] = *place;
    sm_of[i] = sm;
    rooms.erase(place);
    rooms.emplace(room - work_[i], sm);
  }
  return sm_of;
}

}  // namespace dashlab
