#include "packing_improve.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "random.hpp"

namespace dashlab {
namespace {

/// Exchanges between an SM above the target and a few others; the best one is made even if it gains nothing,
/// but items that moved a short while ago stay where they are.
class Exchange {
 public:
  Exchange(const std::vector<std::int64_t>& sizes, std::uint32_t sms, std::int64_t target,
           std::vector<std::uint32_t>& sm_of)
      : sizes_(sizes),
        target_(target),
        sm_of_(sm_of),
        items_(sms),
        loads_(sms, 0),
        rests_until_(sizes.size(), 0) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      items_[sm_of[i]].push_back(i);
      loads_[sm_of[i]] += sizes[i];
    }
  }

  bool run(std::uint64_t looks) {
    for (now_ = 1; looks > 0; ++now_) {
      above_.clear();
      for (std::uint32_t sm = 0; sm < loads_.size(); ++sm) {
        if (loads_[sm] > target_) above_.push_back(sm);
      }
      if (above_.empty()) return true;
      const std::uint32_t from = above_[random_.below(above_.size())];
      best_ = {};
      constexpr int partners = 16;
      for (int i = 0; i < partners; ++i) look_at(from, random_.below(loads_.size()));
      looks -= std::min(looks, looked_);
      looked_ = partners;
      if (best_.gain != nothing) make(from, best_);
    }
    return false;
  }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  static constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::min();
  struct Choice {
    std::int64_t gain = nothing;
    std::uint32_t to = 0;
    std::size_t give = none;  // item that leaves
    std::size_t take = none;  // item that comes for it, if any
  };

  [[nodiscard]] std::int64_t excess(std::int64_t load) const {
    return std::max<std::int64_t>(0, load - target_);
  }

  void look_at(std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    const std::int64_t now = excess(loads_[from]) + excess(loads_[to]);
    for (std::size_t give : items_[from]) {
      if (rests_until_[give] > now_) continue;
      consider(from, to, now, give, none);
      for (std::size_t take : items_[to]) {
        if (rests_until_[take] <= now_ && sizes_[take] != sizes_[give]) consider(from, to, now, give, take);
      }
    }
    looked_ += items_[from].size() * (items_[to].size() + 1);
  }
  void consider(std::uint32_t from, std::uint32_t to, std::int64_t now, std::size_t give, std::size_t take) {
    const std::int64_t moved = sizes_[give] - (take == none ? 0 : sizes_[take]);
    const std::int64_t gain = now - excess(loads_[from] - moved) - excess(loads_[to] + moved);
    if (gain > best_.gain) best_ = {gain, to, give, take};
  }
  void make(std::uint32_t from, const Choice& choice) {
    move(choice.give, from, choice.to);
    if (choice.take != none) move(choice.take, choice.to, from);
  }
  void move(std::size_t item, std::uint32_t from, std::uint32_t to) {
    std::erase(items_[from], item);
    items_[to].push_back(item);
    loads_[from] -= sizes_[item];
    loads_[to] += sizes_[item];
    sm_of_[item] = to;
    rests_until_[item] = now_ + 2 + random_.below(8);
  }

  const std::vector<std::int64_t>& sizes_;
  std::int64_t target_;
  std::vector<std::uint32_t>& sm_of_;
  std::vector<std::vector<std::size_t>> items_;
  std::vector<std::int64_t> loads_;
  std::vector<std::uint64_t> rests_until_;
  std::vector<std::uint32_t> above_;
  Choice best_;
  std::uint64_t looked_ = 0;
  std::uint64_t now_ = 0;
  Random random_{0};
};

}  // namespace

bool improve_packing(const std::vector<std::int64_t>& sizes, std::uint32_t sms, std::int64_t target,
                     std::vector<std::uint32_t>& sm_of, std::uint64_t looks) {
  return Exchange(sizes, sms, target, sm_of).run(looks);
}

}  // namespace dashlab
