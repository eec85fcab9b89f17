// Solutions of the exercises of notebook 8: a schedule of one's own.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "dashlab/core/bounds.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/core/schedule_file.hpp"
#include "dashlab/core/simulate.hpp"
#include "dashlab/core/verify.hpp"

using namespace dashlab;

TEST_CASE("Exercise 8.1: one causal head of 5 x 5 tiles fits on 3 SMs without a gap") {
  // Bins of 5 tasks: kv 0; kv 1 and 4; kv 3 and 2. In no step are two SMs in one row.
  const ScheduleFile file = parse_schedule(R"({
    "format": "dashlab.schedule/1",
    "problem": {"mask": "causal", "tiles": 5, "heads": 1},
    "sms": 3, "placement": "static", "dq": "ordered",
    "chains": [
      [{"head": 0, "kv": 0, "q": [4, 0, 1, 2, 3]}],
      [{"head": 0, "kv": 1, "q": [1, 2, 4, 3]}, {"head": 0, "kv": 4, "q": [4]}],
      [{"head": 0, "kv": 3, "q": [3, 4]}, {"head": 0, "kv": 2, "q": [3, 4, 2]}]
    ],
    "reduce": [
      {"head": 0, "q": 0, "kv": [0]},
      {"head": 0, "q": 1, "kv": [1, 0]},
      {"head": 0, "q": 2, "kv": [1, 0, 2]},
      {"head": 0, "q": 3, "kv": [3, 2, 1, 0]},
      {"head": 0, "q": 4, "kv": [0, 3, 1, 2, 4]}
    ]})",
                                           "exercise");
  const TileMap tiles(file.problem);
  CHECK(verify(file.problem, tiles, file.schedule).valid);
  CHECK(simulate(file.problem, tiles, file.schedule, Costs{}).makespan_units() == Rational(25, 4));
}

TEST_CASE("Exercise 8.2: no swap in one row of shift, 4 x 4, deadlocks, but of 216 in two rows 42 do") {
  const Problem problem = tile_problem(4, 4, 1, FullMask{});
  const TileMap tiles(problem);
  const Schedule shift = make_schedule("shift", problem, tiles, {.sms = 4});
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = i + 1; j < 4; ++j) pairs.emplace_back(i, j);
  }
  const auto swapped = [](Schedule schedule, std::size_t row, std::pair<std::size_t, std::size_t> places) {
    std::swap(schedule.reduce_kv[4 * row + places.first], schedule.reduce_kv[4 * row + places.second]);
    return schedule;
  };
  int in_one_row = 0;
  int in_two_rows = 0;
  for (std::size_t row = 0; row < 4; ++row) {
    for (const auto& places : pairs) {
      const Schedule one = swapped(shift, row, places);
      in_one_row += verify(problem, tiles, one).deadlock_free ? 0 : 1;
      CHECK(simulate(problem, tiles, one, Costs{}).makespan_units() > Rational(5));  // but they all wait
      for (std::size_t other = row + 1; other < 4; ++other) {
        for (const auto& other_places : pairs) {
          const Schedule two = swapped(one, other, other_places);
          in_two_rows += verify(problem, tiles, two).deadlock_free ? 0 : 1;
        }
      }
    }
  }
  CHECK(in_one_row == 0);
  CHECK(in_two_rows == 42);
}

namespace {

// Notebook 8's `packed`, with rows upward or downward.
Schedule packed(const Problem& problem, const TileMap& tiles, std::uint32_t sms, bool upward) {
  std::vector<Chain> chains;
  for (std::uint32_t head = 0; head < problem.total_heads(); ++head) {
    for (std::uint32_t kv = 0; kv < tiles.kv_tiles(); ++kv) chains.push_back({head, kv, false});
  }
  const auto length = [&](const Chain& chain) { return tiles.column(KvTile{chain.tile}).size(); };
  std::stable_sort(chains.begin(), chains.end(),
                   [&](const Chain& a, const Chain& b) { return length(a) > length(b); });
  std::vector<std::vector<Chain>> lists(sms);
  std::vector<std::size_t> work(sms);
  for (const Chain& chain : chains) {
    const auto least = static_cast<std::size_t>(std::min_element(work.begin(), work.end()) - work.begin());
    work[least] += length(chain);
    lists[least].push_back(chain);
  }
  Schedule s;
  s.name = "packed";
  s.placement = Placement::static_lists;
  s.sms = sms;
  s.sm_begin = {0};
  s.row_begin = {0};
  std::vector<std::vector<std::tuple<std::size_t, std::uint32_t, std::uint32_t>>> arrivals(
      static_cast<std::size_t>(problem.total_heads()) * tiles.q_tiles());
  for (std::uint32_t sm = 0; sm < sms; ++sm) {
    std::size_t step = 0;
    for (const Chain& chain : lists[sm]) {
      s.chains.push_back(chain);
      const auto column = tiles.column(KvTile{chain.tile});
      std::vector<std::uint32_t> rows(column.begin(), column.end());
      if (!upward) std::reverse(rows.begin(), rows.end());
      for (const std::uint32_t q : rows) {
        s.steps.push_back(q);
        arrivals[chain.head * tiles.q_tiles() + q].emplace_back(step++, sm, chain.tile);
      }
      s.chain_begin.push_back(s.steps.size());
    }
    s.sm_begin.push_back(s.chains.size());
  }
  for (auto& row : arrivals) {
    std::sort(row.begin(), row.end());
    for (const auto& arrival : row) s.reduce_kv.push_back(std::get<2>(arrival));
    s.row_begin.push_back(s.reduce_kv.size());
  }
  return s;
}

}  // namespace

TEST_CASE("Exercise 8.3: walking rows downward changes the length on none of the 27 sizes") {
  int sizes = 0;
  for (std::int64_t n = 3; n <= 8; ++n) {
    for (std::uint32_t sms = 2; sms <= n; ++sms) {
      const Problem problem = tile_problem(n, n, 2, CausalMask{});
      const TileMap tiles(problem);
      const auto takes = [&](bool upward) {
        const Schedule schedule = packed(problem, tiles, sms, upward);
        REQUIRE(verify(problem, tiles, schedule).valid);
        return simulate(problem, tiles, schedule, Costs{}).makespan_units();
      };
      ++sizes;
      CHECK(takes(false) == takes(true));
    }
  }
  CHECK(sizes == 27);
}
