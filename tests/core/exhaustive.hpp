// The exact optimum of tiny problems: depth-first over everything that a schedule decides. Shares no code
// with core beyond the tile map. Serial model, link 0, whole ticks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "dashlab/core/schedule.hpp"

namespace dashlab::test {

/// One head-row or chain of the search is named by head * tiles + tile.
class ExhaustiveSearch {
 public:
  ExhaustiveSearch(const Problem& problem, const TileMap& tiles, std::uint32_t sms, std::int64_t compute,
                   std::int64_t reduce)
      : q_tiles_(tiles.q_tiles()), compute_(compute), reduce_(reduce) {
    for (std::uint32_t head = 0; head < problem.total_heads(); ++head) {
      for (std::uint32_t kv = 0; kv < tiles.kv_tiles(); ++kv) {
        std::uint32_t rows = 0;
        for (std::uint32_t q : tiles.column(KvTile{kv})) rows |= 1U << q;
        if (rows) start_.waiting.push_back({head, kv, rows});
      }
    }
    start_.row_free.assign(static_cast<std::size_t>(problem.total_heads()) * q_tiles_, 0);
    start_.sms.assign(sms, {});
  }

  /// Whether some schedule ends by `makespan`; then schedule() returns it.
  bool fits(std::int64_t makespan) {
    makespan_ = makespan;
    hopeless_.clear();
    State state = start_;
    taken_.clear();
    return descend(state);
  }

  /// The smallest multiple of `step` from `first` on that some schedule meets.
  std::int64_t optimum(std::int64_t first, std::int64_t step) {
    while (!fits(first)) first += step;
    return first;
  }

  /// The schedule behind the last fits() that was true, for the verifier and simulator of core to confirm.
  [[nodiscard]] Schedule schedule(std::uint32_t sms) const {
    Schedule s;
    s.name = "exhaustive";
    s.placement = Placement::static_lists;
    s.sms = sms;
    s.sm_begin.assign(1, 0);
    for (std::uint32_t sm = 0; sm < sms; ++sm) {
      for (const Move& move : taken_) {
        if (move.sm != sm) continue;
        const bool same_chain =
            s.chains.size() > s.sm_begin.back() && s.chains.back() == Chain{move.head, move.kv, false};
        if (!same_chain) {
          s.chains.push_back({move.head, move.kv, false});
          s.chain_begin.push_back(s.steps.size());
        }
        s.steps.push_back(move.q);
        s.chain_begin.back() = s.steps.size();
      }
      s.sm_begin.push_back(s.chains.size());
    }
    s.row_begin.assign(1, 0);
    for (std::size_t row = 0; row < start_.row_free.size(); ++row) {
      for (const Move& move : taken_) {
        if (move.head * q_tiles_ + move.q == row) s.reduce_kv.push_back(move.kv);
      }
      s.row_begin.push_back(s.reduce_kv.size());
    }
    return s;
  }

 private:
  struct OpenChain {
    std::uint32_t head = 0, kv = 0, rows = 0;  // rows: q tiles still to do, one bit each
  };
  struct Sm {
    std::int64_t time = 0;
    OpenChain chain;
  };
  struct State {
    std::vector<Sm> sms;
    std::vector<OpenChain> waiting;
    std::vector<std::int64_t> row_free;
  };
  struct Move {
    std::uint32_t sm, head, kv, q;
  };

  [[nodiscard]] std::int64_t least(std::uint32_t rows) const {
    return __builtin_popcount(rows) * (compute_ + reduce_);
  }

  // Too late already: an SM cannot end its chain in time, or all SMs together cannot do the rest.
  [[nodiscard]] bool too_late(const State& state) const {
    std::int64_t room = 0;
    std::int64_t rest = 0;
    std::int64_t longest_room = 0;
    for (const Sm& sm : state.sms) {
      const std::int64_t left = makespan_ - sm.time - least(sm.chain.rows);
      if (left < 0) return true;
      room += left;
      longest_room = std::max(longest_room, left);
    }
    for (const OpenChain& chain : state.waiting) {
      rest += least(chain.rows);
      if (least(chain.rows) > longest_room) return true;
    }
    return rest > room;
  }

  // SMs are alike, so they are sorted: states that differ only in which SM does what are one.
  [[nodiscard]] std::string key(const State& state) const {
    std::vector<std::string> parts;
    const auto text = [](const OpenChain& c) {
      return std::string{static_cast<char>(c.head), static_cast<char>(c.kv), static_cast<char>(c.rows)};
    };
    for (const Sm& sm : state.sms) parts.push_back(std::string{static_cast<char>(sm.time)} + text(sm.chain));
    std::sort(parts.begin(), parts.end());
    std::string result;
    for (const auto& part : parts) result += part;
    for (const OpenChain& chain : state.waiting) result += text(chain);
    for (std::int64_t free : state.row_free) result += static_cast<char>(free);
    return result;
  }

  bool descend(State& state) {
    if (too_late(state)) return false;
    const bool done = state.waiting.empty() && std::all_of(state.sms.begin(), state.sms.end(),
                                                           [](const Sm& sm) { return sm.chain.rows == 0; });
    if (done) return true;
    if (!hopeless_.insert(key(state)).second) return false;
    for (std::uint32_t sm = 0; sm < state.sms.size(); ++sm) {
      if (state.sms[sm].chain.rows != 0) {
        if (advance(state, sm)) return true;
        continue;
      }
      bool same_as_earlier = false;  // an idle SM like one tried before
      for (std::uint32_t other = 0; other < sm; ++other) {
        same_as_earlier |= state.sms[other].chain.rows == 0 && state.sms[other].time == state.sms[sm].time;
      }
      if (same_as_earlier) continue;
      for (std::size_t i = 0; i < state.waiting.size(); ++i) {
        State next = state;
        next.sms[sm].chain = state.waiting[i];
        next.waiting.erase(next.waiting.begin() + static_cast<std::ptrdiff_t>(i));
        if (advance(next, sm)) return true;
      }
    }
    return false;
  }

  // Tries every q tile as the next task of the SM's chain; its add joins the end of the row's order.
  bool advance(const State& state, std::uint32_t sm) {
    const OpenChain chain = state.sms[sm].chain;
    for (std::uint32_t q = 0; q < q_tiles_; ++q) {
      if ((chain.rows >> q & 1U) == 0) continue;
      State next = state;
      std::int64_t& row_free = next.row_free[chain.head * q_tiles_ + q];
      row_free = std::max(state.sms[sm].time + compute_, row_free) + reduce_;
      next.sms[sm].time = row_free;
      next.sms[sm].chain.rows &= ~(1U << q);
      taken_.push_back({sm, chain.head, chain.kv, q});
      if (descend(next)) return true;
      taken_.pop_back();
    }
    return false;
  }

  std::uint32_t q_tiles_;
  std::int64_t compute_;
  std::int64_t reduce_;
  std::int64_t makespan_ = 0;
  State start_;
  std::vector<Move> taken_;
  std::unordered_set<std::string> hopeless_;
};

}  // namespace dashlab::test
