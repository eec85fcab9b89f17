// Solutions of the exercises of notebook 7: from model to silicon.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dashlab/core/schedule.hpp"
#include "dashlab/core/simulate.hpp"
#include "dashlab/viz/timeline_file.hpp"

using namespace dashlab;

namespace {

Timeline full(const std::string& schedule) {
  return viz::read_timeline(std::string(DASHLAB_TEST_DATA) + "/gpu/traces/full_" + schedule + ".json");
}

std::int64_t median(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Nanoseconds: a step where nobody waits, an ordered add, and a hand-over to one who waits.
struct Calibration {
  std::int64_t compute = 0, reduce = 0, link = 0;
};

Calibration calibration() {
  const Timeline free = full("atomic");
  const Timeline ordered = full("shift");
  std::vector<std::int64_t> steps;
  for (std::size_t i = 1; i < free.tasks.size(); ++i) {
    const TaskSpan& before = free.tasks[i - 1];
    const TaskSpan& task = free.tasks[i];
    if (before.chain == task.chain) steps.push_back(task.compute_start - before.compute_start);
  }
  std::vector<std::int64_t> adds;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const TaskSpan*>> rows;
  for (const TaskSpan& task : ordered.tasks) {
    adds.push_back(task.reduce_end - task.reduce_start);
    rows[{index(task.head), index(task.q)}].push_back(&task);
  }
  std::vector<std::int64_t> links;
  for (auto& [key, row] : rows) {
    std::sort(row.begin(), row.end(), [](const auto* a, const auto* b) { return a->rank < b->rank; });
    for (std::size_t i = 1; i < row.size(); ++i) {
      if (row[i]->compute_end + 300 < row[i - 1]->reduce_end) {
        links.push_back(row[i]->reduce_start - row[i - 1]->reduce_end);
      }
    }
  }
  return {median(steps), median(adds), median(links)};
}

}  // namespace

TEST_CASE("Exercise 7.1: a link some 70 ns shorter would let shift run free of stalls in the model") {
  const Calibration costs = calibration();
  const std::int64_t missing = costs.link - (costs.compute - costs.reduce);
  CHECK(missing > 50);
  CHECK(missing < 90);
}

TEST_CASE(
    "Exercise 7.2: in ascending the first add of a chain waits ten times as long as the others, on average") {
  const Timeline run = full("ascending");
  std::int64_t first_wait = 0;
  std::int64_t firsts = 0;
  std::int64_t other_wait = 0;
  for (std::size_t i = 0; i < run.tasks.size(); ++i) {
    const TaskSpan& task = run.tasks[i];
    const bool first = i == 0 || run.tasks[i - 1].chain != task.chain;
    (first ? first_wait : other_wait) += task.reduce_start - task.compute_end;
    firsts += first ? 1 : 0;
  }
  const auto others = static_cast<std::int64_t>(run.tasks.size()) - firsts;
  CHECK(firsts == 8 * 16);  // one for each kv tile of each head
  CHECK(first_wait / firsts > 10 * (other_wait / others));
}

TEST_CASE(
    "Exercise 7.3: without the hand-over's time full ascending would be 15 links shorter in the model") {
  const Calibration measured = calibration();
  Problem problem;
  problem.seqlen_q = problem.seqlen_k = 2048;
  problem.heads = problem.kv_heads = 8;
  problem.tile_q = 80;
  const TileMap tiles(problem);
  const Schedule schedule = make_schedule("ascending", problem, tiles, {.sms = 128});
  const auto takes = [&](std::int64_t link) {
    Costs costs;
    costs.compute = measured.compute;
    costs.reduce = measured.reduce;
    costs.link = link;
    costs.overlap_depth = 1;
    return simulate(problem, tiles, schedule, costs).makespan_units();
  };
  CHECK(takes(measured.link) - takes(0) == Rational(15 * measured.link));
}
