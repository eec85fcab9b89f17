#include "annealing.hpp"

#include <algorithm>
#include <optional>

namespace dashlab {
namespace {

/// A change that can be taken back.
struct Move {
  enum class Kind : std::uint8_t { swap_rows, move_row, swap_walks, move_walk } kind;
  std::uint32_t sm = 0, walk = 0;
  std::size_t from = 0, to = 0;  // places of rows
  std::uint32_t other_sm = 0, other_walk = 0;
};

class Annealing {
 public:
  Annealing(Walks& walks, ArrivalRun& run, Random& random) : walks_(walks), run_(run), random_(random) {
    for (std::uint32_t sm = 0; sm < walks.size(); ++sm) {
      if (!walks[sm].empty()) busy_.push_back(sm);
    }
  }

  std::int64_t operator()(std::uint64_t runs, std::int64_t enough, const std::function<bool()>& keep_going) {
    std::int64_t current = value(run_(walks_));
    std::int64_t best = makespan_;
    Walks best_walks = walks_;
    const std::int64_t hot = run_.ticks_per_unit() * std::ssize(busy_);
    for (std::uint64_t i = 0; i < runs && best > enough; ++i) {
      if (i % 64 == 63 && !keep_going()) break;
      const auto move = propose();
      if (!move) continue;
      apply(*move);
      const std::int64_t changed = value(run_(walks_));
      const auto worst_taken = static_cast<std::size_t>(hot * static_cast<std::int64_t>(runs - i) /
                                                        static_cast<std::int64_t>(2 * runs));
      if (changed > current + random_.below(worst_taken + 1)) {
        take_back(*move);
        continue;
      }
      current = changed;
      if (makespan_ < best) {
        best = makespan_;
        best_walks = walks_;
      }
    }
    walks_ = std::move(best_walks);
    return best;
  }

 private:
  // The makespan first; the ends of all SMs point the way where it is flat.
  std::int64_t value(std::int64_t makespan) {
    makespan_ = makespan;
    std::int64_t sum = makespan * std::ssize(busy_);
    for (std::uint32_t sm : busy_) sum += run_.sm_end()[sm];
    return sum;
  }

  std::optional<Move> propose() {
    Move move{};
    move.sm = busy_[random_.below(busy_.size())];
    if (walks_[move.sm].empty()) return std::nullopt;
    move.walk = random_.below(walks_[move.sm].size());
    const std::uint32_t dice = random_.below(16);
    if (dice < 14) {
      const std::size_t rows = walks_[move.sm][move.walk].rows.size();
      move.kind = dice < 7 ? Move::Kind::swap_rows : Move::Kind::move_row;
      move.from = random_.below(rows);
      move.to = random_.below(rows);
      if (move.from == move.to) return std::nullopt;
      return move;
    }
    move.other_sm = random_.below(walks_.size());
    if (dice == 14 || move.other_sm == move.sm) {
      if (walks_[move.other_sm].empty()) return std::nullopt;
      move.kind = Move::Kind::swap_walks;
      move.other_walk = random_.below(walks_[move.other_sm].size());
      if (move.sm == move.other_sm && move.walk == move.other_walk) return std::nullopt;
    } else {
      move.kind = Move::Kind::move_walk;
      move.other_walk = random_.below(walks_[move.other_sm].size() + 1);
    }
    return move;
  }

  void apply(const Move& move) {
    if (move.kind == Move::Kind::move_walk)
      return move_walk(move.sm, move.walk, move.other_sm, move.other_walk);
    if (move.kind == Move::Kind::swap_walks) {
      return std::swap(walks_[move.sm][move.walk], walks_[move.other_sm][move.other_walk]);
    }
    auto& rows = walks_[move.sm][move.walk].rows;
    if (move.kind == Move::Kind::swap_rows) return std::swap(rows[move.from], rows[move.to]);
    move_row(rows, move.from, move.to);
  }
  void take_back(const Move& move) {
    if (move.kind == Move::Kind::move_walk)
      return move_walk(move.other_sm, move.other_walk, move.sm, move.walk);
    if (move.kind == Move::Kind::move_row)
      return move_row(walks_[move.sm][move.walk].rows, move.to, move.from);
    apply(move);
  }
  static void move_row(std::vector<std::uint32_t>& rows, std::size_t from, std::size_t to) {
    const auto at = [&](std::size_t i) { return rows.begin() + static_cast<std::ptrdiff_t>(i); };
    if (from < to) {
      std::rotate(at(from), at(from + 1), at(to + 1));
    } else {
      std::rotate(at(to), at(from), at(from + 1));
    }
  }
  void move_walk(std::uint32_t sm, std::uint32_t walk, std::uint32_t to_sm, std::uint32_t to_walk) {
    Walk moved = std::move(walks_[sm][walk]);
    walks_[sm].erase(walks_[sm].begin() + walk);
    walks_[to_sm].insert(walks_[to_sm].begin() + to_walk, std::move(moved));
  }

  Walks& walks_;
  ArrivalRun& run_;
  Random& random_;
  std::vector<std::uint32_t> busy_;
  std::int64_t makespan_ = 0;
};

}  // namespace

std::int64_t anneal(Walks& walks, ArrivalRun& run, Random& random, std::uint64_t runs, std::int64_t enough,
                    const std::function<bool()>& keep_going) {
  return Annealing(walks, run, random)(runs, enough, keep_going);
}

}  // namespace dashlab
