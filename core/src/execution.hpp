// Runs a schedule step by step, without or with a clock: the common engine of verifier and simulator.
//
// A CTA is a list of chains: a whole SM's list (static placement) or one chain (dynamic). CTAs are launched
// in order into `slots`; a CTA that waits for its rank parks and is woken by the add before it. Each CTA is
// driven as far as it can go before the next launch. That is exact: a parked CTA waits (through others) for
// one that is not launched yet, so it ends after any slot that is free now; and whether everything runs to
// the end does not depend on timing at all, since an action that is possible once stays possible until it is
// taken.
#pragma once

#include <cstdint>
#include <limits>
#include <queue>
#include <vector>

#include "dashlab/core/problem.hpp"
#include "dashlab/core/schedule.hpp"

namespace dashlab {

/// Dense numbers of chains by what they compute. The schedule must be complete (see check_completeness).
class ChainIndex {
 public:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  ChainIndex(const TileMap& tiles, const Schedule& schedule, std::size_t owners)
      : kv_tiles_(tiles.kv_tiles()), chain_(owners * kv_tiles_, none) {
    for (std::size_t i = 0; i < schedule.chains.size(); ++i) {
      const Chain& chain = schedule.chains[i];
      if (!chain.second_pass)
        chain_[std::size_t{chain.head} * kv_tiles_ + chain.tile] = static_cast<std::uint32_t>(i);
    }
  }
  [[nodiscard]] std::uint32_t operator()(std::uint32_t owner, std::uint32_t kv) const noexcept {
    return chain_[std::size_t{owner} * kv_tiles_ + kv];
  }

 private:
  std::size_t kv_tiles_;
  std::vector<std::uint32_t> chain_;
};

/// How far a slot has come. `step` indexes Schedule::steps; at the end of a chain that waits to add its dK
/// and dV to its group, step is the chain's end.
struct Slot {
  std::uint32_t cta = 0;
  std::size_t chain = 0;
  std::size_t chain_end = 0;
  std::uint64_t step = 0;
  bool parked = false;
};

/// Clock is told what happens: launch(slot), task(slot, chain, step, row, rank), group_add(slot, group_row,
/// first), ended(slot) -> time at which the slot is free.
template <typename Clock>
class Execution {
 public:
  Execution(const Problem& problem, const TileMap& tiles, const Schedule& schedule, std::size_t slots,
            Clock& clock)
      : problem_(problem),
        schedule_(schedule),
        clock_(clock),
        q_tiles_(tiles.q_tiles()),
        kv_tiles_(tiles.kv_tiles()),
        gathered_(schedule.group_mode == GroupMode::gathered),
        group_(static_cast<std::uint32_t>(problem.group_size())),
        chain_of_(tiles, schedule,
                  static_cast<std::size_t>(problem.batch * (gathered_ ? problem.kv_heads : problem.heads))),
        slot_of_chain_(schedule.chains.size(), ChainIndex::none),
        row_next_(schedule.row_begin.begin(),
                  schedule.row_begin.empty() ? schedule.row_begin.end() : schedule.row_begin.end() - 1),
        group_next_(schedule.group_order.size() / (group_ > 1 ? group_ : 1), 0),
        slots_(std::min<std::size_t>(slots, cta_count())) {}

  [[nodiscard]] std::size_t cta_count() const noexcept {
    return schedule_.placement == Placement::dynamic ? schedule_.chains.size() : schedule_.sms;
  }

  /// Runs to the end or until nothing can move. True when every task ran.
  bool run() {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) launch(slot);
    drain();
    while (!free_.empty() && launched_ < cta_count()) {
      const std::size_t slot = free_.top().second;
      free_.pop();
      launch(slot);
      drain();
    }
    return ended_ == cta_count();
  }

  /// After run() returned false: the slots, those parked among them, and what they wait for.
  [[nodiscard]] const std::vector<Slot>& slots() const noexcept { return slots_; }
  [[nodiscard]] std::size_t launched() const noexcept { return launched_; }
  [[nodiscard]] std::uint64_t row_of(const Slot& slot) const noexcept {
    return std::uint64_t{schedule_.head_of_step(slot.chain, slot.step)} * q_tiles_ +
           schedule_.steps[slot.step];
  }
  /// The kv tile whose add row `row` expects next; ChainIndex::none when all of the row's order has added.
  [[nodiscard]] std::uint32_t expected(std::uint64_t row) const noexcept {
    return row_next_[row] < schedule_.row_begin[row + 1] ? schedule_.reduce_kv[row_next_[row]]
                                                         : ChainIndex::none;
  }
  /// Whether kv tile `kv` has added to row `row`. For reports only: linear in the row.
  [[nodiscard]] bool has_added(std::uint64_t row, std::uint32_t kv) const noexcept {
    for (std::uint64_t i = schedule_.row_begin[row]; i < row_next_[row]; ++i) {
      if (schedule_.reduce_kv[i] == kv) return true;
    }
    return false;
  }
  [[nodiscard]] bool waits_for_group(const Slot& slot) const noexcept {
    return slot.step == schedule_.chain_begin[slot.chain + 1];
  }
  /// The q head whose dK/dV add comes next in the group row of this slot's chain.
  [[nodiscard]] std::uint32_t expected_head(const Slot& slot) const noexcept {
    const std::size_t row = group_row(schedule_.chains[slot.chain]);
    return schedule_.group_order[row * group_ + group_next_[row]];
  }
  [[nodiscard]] const ChainIndex& chains() const noexcept { return chain_of_; }
  [[nodiscard]] std::uint32_t owner_of_head(std::uint32_t head) const noexcept {
    return gathered_ ? problem_.kv_head_of(HeadId{head}) : head;
  }
  [[nodiscard]] std::uint32_t slot_of_chain(std::size_t chain) const noexcept {
    return slot_of_chain_[chain];
  }

 private:
  void launch(std::size_t slot) {
    Slot& s = slots_[slot];
    s.cta = static_cast<std::uint32_t>(launched_++);
    if (schedule_.placement == Placement::dynamic) {
      s.chain = s.cta;
      s.chain_end = s.chain + 1;
    } else {
      s.chain = schedule_.sm_begin[s.cta];
      s.chain_end = schedule_.sm_begin[s.cta + std::size_t{1}];
    }
    clock_.launch(slot);
    if (s.chain == s.chain_end) return end(slot);
    start_chain(slot);
    ready_.push_back(slot);
  }

  void start_chain(std::size_t slot) {
    Slot& s = slots_[slot];
    s.step = schedule_.chain_begin[s.chain];
    slot_of_chain_[s.chain] = static_cast<std::uint32_t>(slot);
  }

  void end(std::size_t slot) {
    ++ended_;
    free_.emplace(clock_.ended(slot), slot);
  }

  void drain() {
    while (!ready_.empty()) {
      const std::size_t slot = ready_.back();
      ready_.pop_back();
      advance(slot);
    }
  }

  void advance(std::size_t slot) {
    Slot& s = slots_[slot];
    s.parked = false;
    while (true) {
      const Chain& chain = schedule_.chains[s.chain];
      const std::uint64_t chain_end_step = schedule_.chain_begin[s.chain + 1];
      const bool reduces = !chain.second_pass && schedule_.dq_mode == DqMode::ordered;
      for (; s.step < chain_end_step; ++s.step) {
        if (!reduces) {
          clock_.task(slot, s.chain, s.step, 0, 0);
          continue;
        }
        const std::uint64_t row = row_of(s);
        const std::uint64_t place = row_next_[row];
        if (place == schedule_.row_begin[row + 1] || schedule_.reduce_kv[place] != chain.tile) {
          s.parked = true;
          return;
        }
        clock_.task(slot, s.chain, s.step, row, static_cast<std::uint32_t>(place - schedule_.row_begin[row]));
        row_next_[row] = place + 1;
        if (place + 1 < schedule_.row_begin[row + 1]) wake(schedule_.reduce_kv[place + 1], row);
      }
      if (!group_next_.empty() && !chain.second_pass && !add_to_group(slot, chain)) {
        s.parked = true;
        return;
      }
      if (++s.chain == s.chain_end) return end(slot);
      start_chain(slot);
    }
  }

  [[nodiscard]] std::size_t group_row(const Chain& chain) const noexcept {
    return std::size_t{problem_.kv_head_of(HeadId{chain.head})} * kv_tiles_ + chain.tile;
  }

  bool add_to_group(std::size_t slot, const Chain& chain) {
    const std::size_t row = group_row(chain);
    std::uint32_t& next = group_next_[row];
    if (schedule_.group_order[row * group_ + next] != chain.head) return false;
    clock_.group_add(slot, row, next == 0);
    if (++next < group_) {
      const std::uint32_t waiting = chain_of_(schedule_.group_order[row * group_ + next], chain.tile);
      const std::uint32_t other = waiting == ChainIndex::none ? ChainIndex::none : slot_of_chain_[waiting];
      if (other != ChainIndex::none && slots_[other].parked && slots_[other].chain == waiting &&
          waits_for_group(slots_[other])) {
        ready_.push_back(other);
      }
    }
    return true;
  }

  void wake(std::uint32_t kv, std::uint64_t row) {
    const auto head = static_cast<std::uint32_t>(row / q_tiles_);
    const std::uint32_t chain = chain_of_(owner_of_head(head), kv);
    if (chain == ChainIndex::none) return;  // an incomplete schedule: nobody will ever add
    const std::uint32_t slot = slot_of_chain_[chain];
    if (slot == ChainIndex::none) return;
    const Slot& s = slots_[slot];
    if (s.parked && s.chain == chain && !waits_for_group(s) && row_of(s) == row) ready_.push_back(slot);
  }

  using Free = std::pair<std::int64_t, std::size_t>;

  const Problem& problem_;
  const Schedule& schedule_;
  Clock& clock_;
  std::uint32_t q_tiles_;
  std::uint32_t kv_tiles_;
  bool gathered_;
  std::uint32_t group_;
  ChainIndex chain_of_;
  std::vector<std::uint32_t> slot_of_chain_;
  std::vector<std::uint64_t> row_next_;  // index into reduce_kv of the add that comes next
  std::vector<std::uint32_t> group_next_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> ready_;
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free_;
  std::size_t launched_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace dashlab
