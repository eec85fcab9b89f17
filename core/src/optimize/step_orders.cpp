#include "step_orders.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "step_matching.hpp"

namespace dashlab {
namespace {

/// A place in a walk: `walk` indexes Search::walks_.
struct Cell {
  std::uint32_t walk = 0;
  std::uint32_t place = 0;
};

/// Tabu search over swaps of two rows within a walk. The cost is the number of conflicts.
class Search {
 public:
  Search(Walks& walks, std::size_t rows, std::uint32_t lead, Random& random) : rows_(rows), random_(random) {
    std::size_t steps = 0;
    for (auto& list : walks) {
      std::size_t step = 0;
      for (Walk& walk : list) {
        walks_.push_back(&walk);
        start_.push_back(step + lead);
        step += lead + walk.rows.size();
      }
      steps = std::max(steps, step);
    }
    count_.assign(steps * rows, 0);
    active_.resize(steps);
    for (std::uint32_t w = 0; w < walks_.size(); ++w) {
      tabu_until_.emplace_back(walks_[w]->rows.size(), 0);
      for (std::size_t place = 0; place < walks_[w]->rows.size(); ++place) {
        ++count(w, place, walks_[w]->rows[place]);
        active_[start_[w] + place].push_back(w);
      }
    }
    for (const std::uint16_t n : count_) cost_ += n > 1 ? n - 1U : 0U;
    find_suspects();
  }

  void run(std::uint64_t patience, const std::function<bool()>& keep_going) {
    best_ = cost_;
    std::uint64_t left = patience;
    for (now_ = 1; cost_ > 0 && left > 0 && (now_ % 1024 != 0 || keep_going()); ++now_) {
      const std::uint64_t best = best_;
      const Cell cell = some_conflict();
      const std::uint64_t looks = walks_[cell.walk]->rows.size();
      if (const auto other = best_partner(cell)) swap(cell, *other);
      left = best_ < best ? patience : left - std::min(left, looks);
    }
  }

 private:
  std::uint16_t& count(std::uint32_t walk, std::size_t place, std::uint32_t row) {
    return count_[(start_[walk] + place) * rows_ + row];
  }
  [[nodiscard]] bool in_conflict(const Cell& cell) {
    return count(cell.walk, cell.place, walks_[cell.walk]->rows[cell.place]) > 1;
  }
  void find_suspects() {
    for (std::uint32_t w = 0; w < walks_.size(); ++w) {
      for (std::uint32_t place = 0; place < walks_[w]->rows.size(); ++place) {
        if (in_conflict({w, place})) suspects_.push_back({w, place});
      }
    }
  }

  // While there is a conflict, the cells of it are among the suspects.
  Cell some_conflict() {
    while (true) {
      const std::uint32_t i = random_.below(suspects_.size());
      const Cell cell = suspects_[i];
      if (in_conflict(cell)) return cell;
      suspects_[i] = suspects_.back();
      suspects_.pop_back();
    }
  }

  // The place whose swap with the cell costs least. Swaps that were made a short while ago are left out,
  // except where they give the best result so far.
  std::optional<Cell> best_partner(const Cell& cell) {
    const std::uint32_t w = cell.walk;
    const auto& rows = walks_[w]->rows;
    const std::uint32_t row = rows[cell.place];
    const int leaving = count(w, cell.place, row) > 1 ? 1 : 0;
    int best_gain = std::numeric_limits<int>::min();
    std::uint32_t best_place = cell.place;
    std::uint32_t equals = 0;
    for (std::uint32_t place = 0; place < rows.size(); ++place) {
      if (place == cell.place) continue;
      const std::uint32_t other = rows[place];
      const int gain = leaving + (count(w, place, other) > 1 ? 1 : 0) - (count(w, place, row) > 0 ? 1 : 0) -
                       (count(w, cell.place, other) > 0 ? 1 : 0);
      const bool tabu = tabu_until_[w][place] > now_ || tabu_until_[w][cell.place] > now_;
      if (tabu && static_cast<std::int64_t>(cost_) - gain >= static_cast<std::int64_t>(best_)) continue;
      if (gain > best_gain) {
        best_gain = gain;
        best_place = place;
        equals = 1;
      } else if (gain == best_gain && random_.below(++equals) == 0) {
        best_place = place;
      }
    }
    if (best_place == cell.place) return std::nullopt;
    return Cell{w, best_place};
  }

  void swap(const Cell& a, const Cell& b) {
    auto& rows = walks_[a.walk]->rows;
    leave(a);
    leave(b);
    std::swap(rows[a.place], rows[b.place]);
    enter(a);
    enter(b);
    best_ = std::min(best_, cost_);
    tabu_until_[a.walk][a.place] = now_ + 3 + random_.below(6);
    tabu_until_[b.walk][b.place] = now_ + 3 + random_.below(6);
  }
  void leave(const Cell& cell) {
    if (count(cell.walk, cell.place, walks_[cell.walk]->rows[cell.place])-- > 1) --cost_;
  }
  void enter(const Cell& cell) {
    const std::uint32_t row = walks_[cell.walk]->rows[cell.place];
    if (++count(cell.walk, cell.place, row) < 2) return;
    ++cost_;
    const std::size_t step = start_[cell.walk] + cell.place;
    for (const std::uint32_t w : active_[step]) {
      const auto place = static_cast<std::uint32_t>(step - start_[w]);
      if (walks_[w]->rows[place] == row) suspects_.push_back({w, place});
    }
  }

  std::size_t rows_;
  Random& random_;
  std::vector<Walk*> walks_;
  std::vector<std::size_t> start_;                  // first step of each walk
  std::vector<std::uint16_t> count_;                // tasks at [step][row]
  std::vector<std::vector<std::uint32_t>> active_;  // walks at each step
  std::vector<std::vector<std::uint64_t>> tabu_until_;
  std::vector<Cell> suspects_;
  std::uint64_t cost_ = 0;
  std::uint64_t best_ = 0;
  std::uint64_t now_ = 0;
};

}  // namespace

void order_by_steps(Walks& walks, std::size_t rows, std::uint32_t lead, Random& random,
                    std::uint64_t patience, const std::function<bool()>& keep_going) {
  match_step_by_step(walks, rows, lead, random, keep_going);
  if (patience > 0 && keep_going()) Search(walks, rows, lead, random).run(patience, keep_going);
}

}  // namespace dashlab
