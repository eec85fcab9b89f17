#include "step_matching.hpp"

#include <algorithm>
#include <limits>

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
        row_seen_(rows, 0) {
    for (const auto& list : walks) {
      for (const Walk& walk : list) {
        for (std::uint32_t row : walk.rows) ++demand_[row];
      }
    }
    at_.assign(walks.size(), {0, 0, lead});
    row_of_.resize(walks.size());
  }

  void run() {
    while (gather()) {
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

  // The rows that SMs need in this step, the most wanted first, then those that have rested longest. False
  // when all walks have ended.
  bool gather() {
    for (std::uint32_t row : wanted_) walks_of_row_[row].clear();
    wanted_.clear();
    free_ = 0;
    bool under_way = false;
    for (std::uint32_t sm = 0; sm < walks_.size(); ++sm) {
      row_of_[sm] = none;
      if (at_[sm].walk == walks_[sm].size()) continue;
      under_way = true;
      if (at_[sm].lead > 0) continue;
      ++free_;
      const auto& rows = walks_[sm][at_[sm].walk].rows;
      for (std::size_t i = at_[sm].done; i < rows.size(); ++i) {
        if (walks_of_row_[rows[i]].empty()) wanted_.push_back(rows[i]);
        walks_of_row_[rows[i]].push_back(sm);
      }
    }
    random_.shuffle(wanted_);
    std::ranges::stable_sort(wanted_, [&](std::uint32_t a, std::uint32_t b) {
      return demand_[a] != demand_[b] ? demand_[a] > demand_[b] : last_step_[a] < last_step_[b];
    });
    ++step_;
    return under_way;
  }

  // A matching that a wanted row once entered is never left by it, so taking rows by demand maximises demand.
  void match() {
    for (std::uint32_t row : wanted_) {
      if (free_ == 0) return;
      ++visit_;
      if (augment(row)) --free_;
    }
  }
  bool augment(std::uint32_t row) {
    row_seen_[row] = visit_;
    for (const std::uint32_t sm : walks_of_row_[row]) {
      if (row_of_[sm] == none) {
        row_of_[sm] = row;
        return true;
      }
    }
    for (const std::uint32_t sm : walks_of_row_[row]) {
      const std::uint32_t held = row_of_[sm];
      if (row_seen_[held] == visit_) continue;
      if (augment(held)) {
        row_of_[sm] = row;
        return true;
      }
    }
    return false;
  }

  void take() {
    for (std::uint32_t sm = 0; sm < walks_.size(); ++sm) {
      Position& at = at_[sm];
      if (at.walk == walks_[sm].size()) continue;
      if (at.lead > 0) {
        --at.lead;
        continue;
      }
      auto& rows = walks_[sm][at.walk].rows;
      if (row_of_[sm] != none) {
        const auto needed = rows.begin() + static_cast<std::ptrdiff_t>(at.done);
        std::iter_swap(needed, std::find(needed, rows.end(), row_of_[sm]));
      }
      --demand_[rows[at.done]];
      last_step_[rows[at.done]] = step_;
      if (++at.done == rows.size()) at = {at.walk + 1, 0, lead_};
    }
  }

  Walks& walks_;
  std::uint32_t lead_;
  Random& random_;
  std::vector<std::uint32_t> demand_;  // walks that still need the row
  std::vector<std::vector<std::uint32_t>> walks_of_row_;
  std::vector<std::uint64_t> last_step_;  // in which the row was taken last
  std::uint64_t step_ = 0;
  std::vector<std::uint64_t> row_seen_;
  std::vector<Position> at_;
  std::vector<std::uint32_t> row_of_;
  std::vector<std::uint32_t> wanted_;
  std::size_t free_ = 0;
  std::uint64_t visit_ = 0;
};

}  // namespace

void match_step_by_step(Walks& walks, std::size_t rows, std::uint32_t lead, Random& random) {
  Matching(walks, rows, lead, random).run();
}

}  // namespace dashlab
