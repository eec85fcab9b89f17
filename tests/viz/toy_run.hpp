// A tiny as-soon-as-possible simulator of its own for pictures: chain lists per SM, rows reduced in a given
// order. Independent of core's simulator on purpose, so that tests of pictures do not lean on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "dashlab/core/timeline.hpp"

namespace toy {

struct Chain {
  std::uint32_t head, kv;
  std::vector<std::uint32_t> q;
};

struct Costs {
  std::int64_t compute = 4, reduce = 1;
  int depth = 0;  // tasks a compute may run ahead of its SM's reduces
};

/// `sms[s]` are the chains of SM s. `order(head, q)` lists kv tiles, first to add first; empty: arrival ranks
/// are taken from ascending kv among tasks present.
inline dashlab::Timeline run(const std::vector<std::vector<Chain>>& sms, const Costs& costs,
                             bool descending_ranks) {
  dashlab::Timeline timeline;
  timeline.title = "toy";
  timeline.ticks_per_unit = costs.compute;
  timeline.sms = static_cast<std::uint32_t>(sms.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> rows;
  for (const auto& list : sms)
    for (const Chain& chain : list)
      for (const auto q : chain.q) rows[{chain.head, q}].push_back(chain.kv);
  for (auto& [row, kvs] : rows) {
    std::sort(kvs.begin(), kvs.end());
    if (descending_ranks) std::reverse(kvs.begin(), kvs.end());
  }
  std::vector<std::vector<std::size_t>> lists(sms.size());
  std::uint32_t chain_number = 0;
  for (std::uint32_t s = 0; s < sms.size(); ++s)
    for (const Chain& chain : sms[s]) {
      for (const auto q : chain.q) {
        dashlab::TaskSpan task;
        task.head = dashlab::HeadId{chain.head}, task.q = dashlab::QTile{q},
        task.kv = dashlab::KvTile{chain.kv};
        task.sm = dashlab::SmId{s}, task.chain = chain_number;
        const auto& row = rows[{chain.head, q}];
        task.rank = static_cast<std::uint32_t>(std::find(row.begin(), row.end(), chain.kv) - row.begin());
        lists[s].push_back(timeline.tasks.size());
        timeline.tasks.push_back(task);
      }
      ++chain_number;
    }
  // Relaxation until nothing moves; fine for the few hundred tasks of a test.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t> by_rank;
  for (std::size_t i = 0; i < timeline.tasks.size(); ++i) {
    const auto& t = timeline.tasks[i];
    by_rank[{index(t.head), index(t.q), t.rank}] = i;
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& list : lists)
      for (std::size_t k = 0; k < list.size(); ++k) {
        auto& t = timeline.tasks[list[k]];
        const auto old = t.reduce_end;
        t.compute_start = k == 0 ? 0 : timeline.tasks[list[k - 1]].compute_end;
        const auto back = static_cast<std::size_t>(costs.depth) + 1;
        if (k >= back) t.compute_start = std::max(t.compute_start, timeline.tasks[list[k - back]].reduce_end);
        t.compute_end = t.compute_start + costs.compute;
        t.reduce_start = t.compute_end;
        if (k > 0) t.reduce_start = std::max(t.reduce_start, timeline.tasks[list[k - 1]].reduce_end);
        if (t.rank > 0)
          t.reduce_start = std::max(
              t.reduce_start, timeline.tasks[by_rank[{index(t.head), index(t.q), t.rank - 1}]].reduce_end);
        t.reduce_end = t.reduce_start + costs.reduce;
        moved = moved || t.reduce_end != old;
      }
  }
  for (const auto& t : timeline.tasks) timeline.makespan = std::max(timeline.makespan, t.reduce_end);
  // The critical path backwards from a last task: whoever ended exactly when this phase started.
  std::map<std::size_t, std::size_t> place;
  for (const auto& list : lists)
    for (std::size_t k = 0; k < list.size(); ++k) place[list[k]] = k;
  for (std::size_t i = 0; i < timeline.tasks.size(); ++i) {
    if (timeline.tasks[i].reduce_end != timeline.makespan) continue;
    std::size_t at = i;
    auto phase = dashlab::Phase::reduce;
    while (true) {
      timeline.critical_path.push_back({at, phase});
      const auto& t = timeline.tasks[at];
      const auto& list = lists[index(t.sm)];
      const std::size_t k = place[at];
      if (phase == dashlab::Phase::reduce) {
        if (t.reduce_start == t.compute_end) {
          phase = dashlab::Phase::compute;
        } else if (t.rank > 0 &&
                   timeline.tasks[by_rank[{index(t.head), index(t.q), t.rank - 1}]].reduce_end ==
                       t.reduce_start) {
          at = by_rank[{index(t.head), index(t.q), t.rank - 1}];
        } else {
          at = list[k - 1];
        }
      } else {
        if (t.compute_start == 0) break;
        const auto back = static_cast<std::size_t>(costs.depth) + 1;
        if (k >= back && timeline.tasks[list[k - back]].reduce_end == t.compute_start) {
          at = list[k - back];
          phase = dashlab::Phase::reduce;
        } else {
          at = list[k - 1];
        }
      }
    }
    break;
  }
  std::reverse(timeline.critical_path.begin(), timeline.critical_path.end());
  return timeline;
}

/// Causal n x n, `heads` heads, kv s of every head on SM s, q ascending from the diagonal.
inline dashlab::Timeline causal(std::uint32_t n, std::uint32_t heads, const Costs& costs = {},
                                bool descending = false) {
  std::vector<std::vector<Chain>> sms(n);
  for (std::uint32_t h = 0; h < heads; ++h)
    for (std::uint32_t kv = 0; kv < n; ++kv) {
      Chain chain{h, kv, {}};
      for (std::uint32_t q = kv; q < n; ++q) chain.q.push_back(q);
      sms[h % 2 == 0 ? kv : n - 1 - kv].push_back(std::move(chain));
    }
  return run(sms, costs, descending);
}

/// Full nq x n, `heads` heads, kv s on SM s, q ascending (or from q = s on, cyclically, when `shifted`).
inline dashlab::Timeline full(std::uint32_t nq, std::uint32_t n, std::uint32_t heads,
                              const Costs& costs = {}) {
  std::vector<std::vector<Chain>> sms(n);
  for (std::uint32_t h = 0; h < heads; ++h)
    for (std::uint32_t kv = 0; kv < n; ++kv) {
      Chain chain{h, kv, {}};
      for (std::uint32_t q = 0; q < nq; ++q) chain.q.push_back(q);
      sms[kv].push_back(std::move(chain));
    }
  return run(sms, costs, false);
}

}  // namespace toy
