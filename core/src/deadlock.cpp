#include "deadlock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "execution.hpp"

namespace dashlab {
namespace {

struct NoClock {
  std::int64_t turn = 0;
  void launch(std::size_t) {}
  void task(std::size_t, std::size_t, std::uint64_t, std::uint64_t, std::uint32_t) {}
  void group_add(std::size_t, std::size_t, bool) {}
  std::int64_t ended(std::size_t) { return turn++; }
};

using Run = Execution<NoClock>;

struct Task {
  std::uint32_t head, q, kv;
  friend bool operator==(const Task&, const Task&) = default;
};

std::string text(const Task& t) {
  return fmt::format("(head {}, q {}, kv {})", t.head, t.q, t.kv);
}

// Reads the stuck state of a run.
class StuckRun {
 public:
  StuckRun(const TileMap& tiles, const Schedule& schedule, const Run& run)
      : q_tiles_(tiles.q_tiles()), schedule_(schedule), run_(run) {}

  void report(std::uint64_t resident, ErrorList& errors) const {
    if (const auto exact = shortest_task_cycle()) return report_cycle(*exact, errors);
    std::vector<Wait> waits;
    for (std::size_t slot = 0; slot < run_.slots().size(); ++slot) {
      if (run_.slots()[slot].parked) waits.push_back(wait_of(slot));
    }
    for (const Wait& wait : waits) {
      if (wait.blocker == Blocker::nobody) {
        errors.add(ErrorKind::deadlock,
                   fmt::format("{} waits for {}, which never adds", text(wait.task), text(wait.needs)),
                   {cycle_step(wait.task, wait.slot, true), cycle_step(wait.needs, wait.slot, false)});
        return;
      }
    }
    for (const Wait& wait : waits) {
      if (wait.blocker == Blocker::not_launched) {
        errors.add(
            ErrorKind::residency,
            fmt::format("with {} CTAs resident, {} waits for {}, whose CTA is launched only when one of the "
                        "resident ones ends; allow more, or launch it earlier",
                        resident, text(wait.task), text(wait.needs)),
            {cycle_step(wait.task, wait.slot, true), cycle_step(wait.needs, wait.slot, false)});
        return;
      }
    }
    report_cycle(shortest_slot_cycle(waits), errors);
  }

 private:
  enum class Blocker : std::uint8_t { slot, nobody, not_launched };
  struct Wait {
    std::size_t slot;
    Task task;
    Task needs;
    Blocker blocker;
    std::size_t blocking_slot;
  };

  [[nodiscard]] std::uint32_t sm_of(std::size_t slot) const { return static_cast<std::uint32_t>(slot); }
  [[nodiscard]] CycleStep cycle_step(const Task& t, std::size_t slot, bool by_program) const {
    return {HeadId{t.head}, QTile{t.q}, KvTile{t.kv}, SmId{sm_of(slot)}, by_program};
  }
  [[nodiscard]] Task task_at(std::size_t chain, std::uint64_t step) const {
    return {schedule_.head_of_step(chain, step), schedule_.steps[step], schedule_.chains[chain].tile};
  }

  // What a parked slot waits for, and who holds that up.
  [[nodiscard]] Wait wait_of(std::size_t slot_number) const {
    const Slot& slot = run_.slots()[slot_number];
    const std::uint32_t tile = schedule_.chains[slot.chain].tile;
    Wait wait{slot_number, {}, {}, Blocker::nobody, 0};
    std::uint32_t chain = ChainIndex::none;
    if (run_.waits_for_group(slot)) {
      wait.task = task_at(slot.chain, slot.step - 1);
      wait.needs = {run_.expected_head(slot), wait.task.q, tile};
      chain = run_.chains()(wait.needs.head, tile);
    } else {
      wait.task = task_at(slot.chain, slot.step);
      const std::uint32_t kv = run_.expected(run_.row_of(slot));
      wait.needs = {wait.task.head, wait.task.q, kv == ChainIndex::none ? tile : kv};
      if (kv != ChainIndex::none) chain = run_.chains()(run_.owner_of_head(wait.task.head), kv);
    }
    if (chain == ChainIndex::none) return wait;
    const std::size_t cta = schedule_.placement == Placement::dynamic ? chain : sm_of_chain(chain);
    if (cta >= run_.launched()) {
      wait.blocker = Blocker::not_launched;
      return wait;
    }
    for (std::size_t other = 0; other < run_.slots().size(); ++other) {
      const Slot& s = run_.slots()[other];
      if (!s.parked || s.cta != cta || s.chain > chain) continue;
      if (!run_.waits_for_group(slot) && !still_runs(s, chain, wait.needs)) continue;
      wait.blocker = Blocker::slot;
      wait.blocking_slot = other;
    }
    return wait;
  }

  [[nodiscard]] bool still_runs(const Slot& slot, std::size_t chain, const Task& task) const {
    const std::uint64_t from = slot.chain == chain ? slot.step : schedule_.chain_begin[chain];
    for (std::uint64_t step = from; step < schedule_.chain_begin[chain + 1]; ++step) {
      if (task_at(chain, step) == task) return true;
    }
    return false;
  }

  [[nodiscard]] std::size_t sm_of_chain(std::size_t chain) const {
    const auto after = std::upper_bound(schedule_.sm_begin.begin(), schedule_.sm_begin.end(), chain);
    return static_cast<std::size_t>(after - schedule_.sm_begin.begin()) - 1;
  }

  // Every parked slot waits for one other: follow the waits until a slot repeats, from each slot, keep the
  // shortest.
  [[nodiscard]] std::vector<CycleStep> shortest_slot_cycle(const std::vector<Wait>& waits) const {
    std::vector<const Wait*> of_slot(run_.slots().size(), nullptr);
    for (const Wait& wait : waits) of_slot[wait.slot] = &wait;
    std::vector<CycleStep> best;
    for (const Wait& start : waits) {
      std::vector<CycleStep> path;
      const Wait* at = &start;
      do {
        path.push_back(cycle_step(at->task, at->slot, true));
        path.push_back(cycle_step(at->needs, at->blocking_slot, false));
        at = of_slot[at->blocking_slot];
      } while (at != &start && path.size() <= 2 * waits.size());
      if (at == &start && (best.empty() || path.size() < best.size())) best = std::move(path);
    }
    return best;
  }

  // The exact shortest cycle among all tasks that did not run, counted in waits, while they are few. Each
  // task needs the one before it in its CTA and the one before it in its row.
  [[nodiscard]] std::optional<std::vector<CycleStep>> shortest_task_cycle() const {
    constexpr std::size_t most = 3000;
    struct Node {
      Task task;
      std::size_t slot;
      std::optional<std::size_t> program;
      std::optional<std::size_t> row;
    };
    std::vector<Node> nodes;
    for (std::size_t slot = 0; slot < run_.slots().size(); ++slot) {
      const Slot& s = run_.slots()[slot];
      if (!s.parked) continue;
      if (run_.waits_for_group(s)) return std::nullopt;
      const std::size_t first = nodes.size();
      for (std::size_t chain = s.chain; chain < s.chain_end; ++chain) {
        for (std::uint64_t step = chain == s.chain ? s.step : schedule_.chain_begin[chain];
             step < schedule_.chain_begin[chain + 1]; ++step) {
          if (nodes.size() == most) return std::nullopt;
          nodes.push_back({task_at(chain, step), slot, {}, {}});
          if (nodes.size() - 1 > first) nodes.back().program = nodes.size() - 2;
        }
      }
    }
    for (Node& node : nodes) {
      const auto row = schedule_.reduce_order(std::size_t{node.task.head} * q_tiles_ + node.task.q);
      const auto place = std::ranges::find(row, node.task.kv);
      if (place == row.begin() || place == row.end()) continue;
      const Task before{node.task.head, node.task.q, *(place - 1)};
      const auto found = std::ranges::find(nodes, before, &Node::task);
      if (found != nodes.end()) node.row = static_cast<std::size_t>(found - nodes.begin());
    }
    std::vector<std::size_t> best;
    std::size_t fewest_waits = SIZE_MAX;
    for (std::size_t start = 0; start < nodes.size(); ++start) {
      if (!nodes[start].row) continue;
      std::vector<std::size_t> waits(nodes.size(), SIZE_MAX);
      std::vector<std::size_t> from(nodes.size(), SIZE_MAX);
      std::deque<std::size_t> queue{*nodes[start].row};
      waits[*nodes[start].row] = 1;
      while (!queue.empty() && waits[start] == SIZE_MAX) {
        const std::size_t at = queue.front();
        queue.pop_front();
        const auto visit = [&](const std::optional<std::size_t>& next, std::size_t cost) {
          if (!next || waits[*next] <= waits[at] + cost) return;
          waits[*next] = waits[at] + cost;
          from[*next] = at;
          cost == 0 ? queue.push_front(*next) : queue.push_back(*next);
        };
        visit(nodes[at].program, 0);
        visit(nodes[at].row, 1);
      }
      if (waits[start] >= fewest_waits) continue;
      fewest_waits = waits[start];
      best.assign(1, start);
      for (std::size_t at = from[start]; at != SIZE_MAX; at = from[at]) best.push_back(at);
    }
    if (best.empty()) return std::nullopt;
    std::ranges::reverse(best.begin() + 1, best.end());  // start, what it needs, what that needs, ...
    return compressed(best, nodes);
  }

  // Keeps of each walk along a CTA its two ends.
  template <typename Nodes>
  [[nodiscard]] std::vector<CycleStep> compressed(const std::vector<std::size_t>& path,
                                                  const Nodes& nodes) const {
    std::vector<CycleStep> cycle;
    const std::size_t n = path.size();
    for (std::size_t i = 0; i < n; ++i) {
      const auto& node = nodes[path[i]];
      const bool in_by_program = nodes[path[(i + n - 1) % n]].program == path[i];
      const bool out_by_program = node.program == path[(i + 1) % n];
      if (in_by_program && out_by_program) continue;
      cycle.push_back(cycle_step(node.task, node.slot, in_by_program));
    }
    return cycle;
  }

  void report_cycle(std::vector<CycleStep> cycle, ErrorList& errors) const {
    std::string message;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const auto& step = cycle[i];
      const auto& next = cycle[(i + 1) % cycle.size()];
      const auto name = text({index(step.head), index(step.q), index(step.kv)});
      message += next.by_program ? fmt::format("{}, which SM {} runs after ", name, index(step.sm))
                                 : fmt::format("{} must add after ", name);
    }
    message += text({index(cycle.front().head), index(cycle.front().q), index(cycle.front().kv)});
    errors.add(ErrorKind::deadlock, std::move(message), std::move(cycle));
  }

  std::uint32_t q_tiles_;
  const Schedule& schedule_;
  const Run& run_;
};

}  // namespace

bool check_deadlock(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                    std::uint64_t resident, ErrorList& errors) {
  if (errors.has(ErrorKind::split_chain)) return false;  // which part waits for which is not defined
  NoClock clock;
  const std::uint64_t slots = resident == 0 ? schedule.sms : resident;
  Run run(problem, tiles, schedule, slots, clock);
  if (run.run()) return true;
  StuckRun(tiles, schedule, run).report(slots, errors);
  return false;
}

}  // namespace dashlab
