#include "packing.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <set>

#include "packing_improve.hpp"

namespace dashlab {
namespace {

struct Fit {
  std::int64_t longest = 0;
  std::vector<std::uint32_t> sm_of;  // of each size
};

// Longest processing time first: the classic upper bound. The sizes come longest first.
Fit longest_first(const std::vector<std::int64_t>& sizes, std::uint32_t sms) {
  using Load = std::pair<std::int64_t, std::uint32_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::uint32_t sm = 0; sm < sms; ++sm) loads.emplace(0, sm);
  Fit fit;
  fit.sm_of.reserve(sizes.size());
  for (std::int64_t size : sizes) {
    const auto [load, sm] = loads.top();
    loads.pop();
    loads.emplace(load + size, sm);
    fit.sm_of.push_back(sm);
    fit.longest = std::max(fit.longest, load + size);
  }
  return fit;
}

// Best fit: the longest first, each to the fullest SM that still has room for it. Better than longest_first
// where many short items are there to fill what the long ones leave. Empty if something finds no room.
std::optional<Fit> best_fit(const std::vector<std::int64_t>& sizes, std::uint32_t sms,
                            std::int64_t capacity) {
  std::set<std::pair<std::int64_t, std::uint32_t>> rooms;
  for (std::uint32_t sm = 0; sm < sms; ++sm) rooms.emplace(capacity, sm);
  Fit fit{capacity, {}};
  fit.sm_of.reserve(sizes.size());
  for (std::int64_t size : sizes) {
    const auto place = rooms.lower_bound({size, 0});
    if (place == rooms.end()) return std::nullopt;
    const auto [room, sm] = *place;
    rooms.erase(place);
    rooms.emplace(room - size, sm);
    fit.sm_of.push_back(sm);
  }
  return fit;
}

std::int64_t longest_load(const std::vector<std::int64_t>& sizes, std::uint32_t sms,
                          const std::vector<std::uint32_t>& sm_of) {
  std::vector<std::int64_t> loads(sms, 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) loads[sm_of[i]] += sizes[i];
  return std::ranges::max(loads);
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
      : sizes_(sizes),
        capacity_(capacity),
        nodes_(nodes),
        loads_(sms, 0),
        sm_of_(sizes.size(), 0),
        rest_(sizes.size() + 1, 0) {
    for (std::size_t i = sizes.size(); i-- > 0;) rest_[i] = rest_[i + 1] + sizes[i];
  }
  enum class Outcome : std::uint8_t { fits, impossible, unknown };
  Outcome run() {
    if (place(0)) return Outcome::fits;
    return nodes_ == 0 ? Outcome::unknown : Outcome::impossible;
  }
  /// After `fits`: the SM of each size.
  [[nodiscard]] const std::vector<std::uint32_t>& sm_of() const noexcept { return sm_of_; }

 private:
  bool place(std::size_t item) {
    if (item == sizes_.size()) return true;
    if (nodes_ == 0) return false;
    --nodes_;
    std::int64_t room = 0;
    for (std::int64_t load : loads_) room += capacity_ - load;
    if (room < rest_[item]) return false;
    std::vector<std::int64_t> tried;
    for (std::uint32_t sm = 0; sm < loads_.size(); ++sm) {
      std::int64_t& load = loads_[sm];
      if (load + sizes_[item] > capacity_ || std::ranges::find(tried, load) != tried.end()) continue;
      tried.push_back(load);
      load += sizes_[item];
      sm_of_[item] = sm;
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
  std::vector<std::uint32_t> sm_of_;
  std::vector<std::int64_t> rest_;
};

}  // namespace

PackingInterval packing_interval(const std::vector<std::int64_t>& sizes, std::uint32_t sms,
                                 std::uint64_t nodes) {
  if (sizes.empty()) return {};
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return sizes[i]; });
  std::vector<std::int64_t> sorted;
  std::int64_t unit = 0;
  for (std::size_t i : order) {
    sorted.push_back(sizes[i]);
    unit = std::gcd(unit, sizes[i]);
  }
  unit = std::max<std::int64_t>(unit, 1);

  Fit best = longest_first(sorted, sms);
  PackingInterval result{simple_lower_bound(sorted, sms, unit), best.longest, {}};
  constexpr int capacities = 4;
  for (int i = 0; i < capacities && result.lower + i * unit < result.upper; ++i) {
    auto fit = best_fit(sorted, sms, result.lower + i * unit);
    if (!fit) continue;
    result.upper = fit->longest;
    best = std::move(*fit);
  }
  constexpr std::size_t most_items = 400;  // a deeper search would only burn its steps
  while (result.lower < result.upper && sizes.size() <= most_items) {
    FitSearch search(sorted, sms, result.lower, nodes);
    const auto outcome = search.run();
    if (outcome == FitSearch::Outcome::unknown) break;
    if (outcome == FitSearch::Outcome::fits) {
      result.upper = result.lower;
      best.sm_of = search.sm_of();
    } else {
      result.lower += unit;  // every load is a multiple of the unit
    }
  }
  std::vector<std::uint32_t> improved = best.sm_of;
  constexpr std::uint64_t looks = 2'000'000;
  while (result.lower < result.upper && improve_packing(sorted, sms, result.upper - unit, improved, looks)) {
    best.sm_of = improved;
    result.upper = longest_load(sorted, sms, improved);
  }
  result.sm_of_chain.resize(sizes.size());
  for (std::size_t i = 0; i < order.size(); ++i) result.sm_of_chain[order[i]] = best.sm_of[i];
  return result;
}

}  // namespace dashlab
