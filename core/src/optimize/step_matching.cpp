#include "step_matching.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace dashlab {
namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

class Matching {
 public:
  Matching(Walks& walks, std::size_t rows, std::uint32_t lead, Random& random)
      : walks_(walks),
        lead_(lead),
        random_(random),
        demand_(rows, 0),
        walks_of_row_(rows),
        last_step_(rows, 0),
        tried_in_step_(rows, 0) {
    for (const auto& list : walks) {
      for (const Walk& walk : list) {
        for (std::uint32_t row : walk.rows) ++demand_[row];
      }
    }
    at_.assign(walks.size(), {0, 0, lead});
    row_of_.resize(walks.size());
    under_way_.resize(walks.size());
    std::iota(under_way_.begin(), under_way_.end(), 0U);
  }

  void run(const std::function<bool()>& keep_going) {
    while (gather() && (step_ % 64 != 0 || keep_going())) {
      match();
      take();
    }
  }

 private:
  struct Position {
    std::size_t walk = 0;
    std::size_t done = 0;    // rows before this one are taken, those from it on are needed
    std::uint32_t lead = 0;  // steps until the first row
  };

  // Brings the rows that SMs need in this step into order: the most wanted first, then those that have rested
  // longest. False when all walks have ended.
  bool gather() {
    std::erase_if(under_way_, [&](std::uint32_t sm) { return at_[sm].walk == walks_[sm].size(); });
    std::erase_if(wanted_, [&](std::uint32_t row) { return walks_of_row_[row].empty(); });
    free_ = 0;
    for (std::uint32_t sm : under_way_) {
      row_of_[sm] = none;
      if (at_[sm].lead > 0) continue;
      ++free_;
      if (at_[sm].done == 0) begin_walk(sm);
    }
    random_.shuffle(wanted_);
    std::ranges::stable_sort(wanted_, [&](std::uint32_t a, std::uint32_t b) {
      return demand_[a] != demand_[b] ? demand_[a] > demand_[b] : last_step_[a] < last_step_[b];
    });
    ++step_;
    return !under_way_.empty();
  }
  void begin_walk(std::uint32_t sm) {
    for (std::uint32_t row : walks_[sm][at_[sm].walk].rows) {
      if (walks_of_row_[row].empty()) wanted_.push_back(row);
      walks_of_row_[row].push_back(sm);
    }
  }

  // A matching that a wanted row once entered is never left by it, so taking rows by demand maximises demand.
  // Rows that a search visited in vain stay out of the later ones of this step: nothing can free them any
  // more.
  void match() {
    for (std::uint32_t row : wanted_) {
      if (free_ == 0) return;
      visited_.clear();
      if (tried_in_step_[row] == step_ || !augment(row, 0)) continue;
      --free_;
      for (std::uint32_t visited : visited_) tried_in_step_[visited] = 0;
    }
  }
  bool augment(std::uint32_t row, int depth) {
    constexpr int deepest = 2000;  // of the recursion: longer ways are rare, and missing one costs little
    if (depth == deepest) return false;
    tried_in_step_[row] = step_;
    visited_.push_back(row);
    for (const std::uint32_t sm : walks_of_row_[row]) {
      if (row_of_[sm] == none) {
        row_of_[sm] = row;
        return true;
      }
    }
    for (const std::uint32_t sm : walks_of_row_[row]) {
      const std::uint32_t held = row_of_[sm];
      if (tried_in_step_[held] == step_) continue;
      if (augment(held, depth + 1)) {
        row_of_[sm] = row;
        return true;
      }
    }
    return false;
  }

  void take() {
    for (std::uint32_t sm : under_way_) {
      Position& at = at_[sm];
      if (at.lead > 0) {
        --at.lead;
        continue;
      }
      auto& rows = walks_[sm][at.walk].rows;
      if (row_of_[sm] != none) {
        const auto needed = rows.begin() + static_cast<std::ptrdiff_t>(at.done);
        std::iter_swap(needed, std::find(needed, rows.end(), row_of_[sm]));
      }
      const std::uint32_t row = rows[at.done];
      --demand_[row];
      last_step_[row] = step_;
      auto& others = walks_of_row_[row];
      others.erase(std::find(others.begin(), others.end(), sm));
      if (++at.done == rows.size()) at = {at.walk + 1, 0, lead_};
    }
  }

  Walks& walks_;
  std::uint32_t lead_;
  Random& random_;
  std::vector<std::uint32_t> demand_;                     // walks that still need the row
  std::vector<std::vector<std::uint32_t>> walks_of_row_;  // SMs under way that still need the row
  std::vector<std::uint64_t> last_step_;                  // in which the row was taken last
  std::uint64_t step_ = 0;
  std::vector<std::uint64_t> tried_in_step_;
  std::vector<std::uint32_t> visited_;    // by the search under way
  std::vector<std::uint32_t> under_way_;  // SMs with walks left
  std::vector<Position> at_;
  std::vector<std::uint32_t> row_of_;
  std::vector<std::uint32_t> wanted_;  // rows that an SM under way needs
  std::size_t free_ = 0;               // SMs without a row in this step
};

}  // namespace

void match_step_by_step(Walks& walks, std::size_t rows, std::uint32_t lead, Random& random,
                        const std::function<bool()>& keep_going) {
  Matching(walks, rows, lead, random).run(keep_going);
}

}  // namespace dashlab
