// From a schedule to the DAG's nodes and edges; collapsing to chains and marking critical path and deadlock.
#include "dag_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "axis.hpp"
#include "dashlab/core/error.hpp"

namespace dashlab::viz {
namespace {

constexpr std::size_t no_node = std::numeric_limits<std::size_t>::max();

class Builder {
 public:
  Builder(const DagInput& input, const DagStyle& style)
      : input_(input),
        style_(style),
        schedule_(*input.schedule),
        q_tiles_(input.problem->q_tiles()),
        kv_tiles_(input.problem->kv_tiles()) {}

  Dag build() {
    place_chains();
    add_tasks();
    add_reduce_order();
    add_group_order();
    mark_critical();
    mark_cycle();
    if (std::ranges::any_of(dag_.edges, &DagEdge::in_cycle)) {
      // Beside a deadlock, depth does not matter.
      for (DagEdge& edge : dag_.edges) edge.against_lemma1 = false;
      dag_.against_lemma1 = 0;
    }
    shrink();
    return std::move(dag_);
  }

 private:
  [[nodiscard]] std::uint64_t key(std::uint32_t head, std::uint32_t q, std::uint32_t kv) const {
    return (std::uint64_t{head} * static_cast<std::uint64_t>(q_tiles_) + q) *
               static_cast<std::uint64_t>(kv_tiles_) +
           kv;
  }

  void place_chains() {
    lists_.resize(std::max(1u, schedule_.sms));
    const bool simulated = input_.sm_of_chain.size() == schedule_.chains.size();
    for (std::size_t chain = 0; chain < schedule_.chains.size(); ++chain) {
      std::size_t sm = chain % lists_.size();
      if (schedule_.placement == Placement::static_lists) {
        sm = static_cast<std::size_t>(
                 std::upper_bound(schedule_.sm_begin.begin(), schedule_.sm_begin.end(), chain) -
                 schedule_.sm_begin.begin()) -
             1;
      } else if (simulated) {
        sm = input_.sm_of_chain[chain];
      }
      if (sm >= lists_.size())
        throw BadInput(fmt::format("chain {} is on SM {}, but there are {} SMs", chain, sm, lists_.size()));
      lists_[sm].push_back(static_cast<std::uint32_t>(chain));
    }
    if (schedule_.placement == Placement::dynamic && !simulated)
      dag_.note = "the queue was not run: chains are dealt to the SMs in queue order";
  }

  void add_tasks() {
    dag_.rows = static_cast<std::uint32_t>(lists_.size());
    dag_.tasks = schedule_.steps.size();
    dag_.nodes.reserve(schedule_.steps.size());
    by_task_.reserve(schedule_.steps.size());
    for (std::uint32_t sm = 0; sm < lists_.size(); ++sm) {
      std::uint32_t step = 0;
      for (const std::uint32_t chain : lists_[sm])
        for (std::uint64_t s = schedule_.chain_begin[chain]; s < schedule_.chain_begin[chain + 1]; ++s) {
          const Chain& c = schedule_.chains[chain];
          DagNode node;
          node.head = schedule_.head_of_step(chain, s);
          node.q = c.second_pass ? c.tile : schedule_.steps[s];
          node.kv = c.second_pass ? schedule_.steps[s] : c.tile;
          node.sm = sm, node.step = step, node.chain = chain, node.second_pass = c.second_pass;
          const std::size_t number = dag_.nodes.size();
          if (step > 0)
            dag_.edges.push_back({number - 1, number, EdgeKind::program, false, false, false, {}});
          (c.second_pass ? by_second_pass_ : by_task_).emplace(key(node.head, node.q, node.kv), number);
          dag_.nodes.push_back(node);
          ++step;
        }
      dag_.columns = std::max(dag_.columns, step);
    }
  }

  [[nodiscard]] std::size_t find(std::uint32_t head, std::uint32_t q, std::uint32_t kv) const {
    const auto found = by_task_.find(key(head, q, kv));
    return found == by_task_.end() ? no_node : found->second;
  }

  // A tile that never adds, in the extra row, above nothing else.
  std::size_t phantom(std::uint32_t head, std::uint32_t q, std::uint32_t kv, std::uint32_t near_step) {
    const std::size_t known = find(head, q, kv);
    if (known != no_node) return known;
    DagNode node;
    node.head = head, node.q = q, node.kv = kv, node.phantom = true;
    node.sm = dag_.rows;
    node.step = std::max(near_step, next_phantom_);
    next_phantom_ = node.step + 1;
    dag_.phantoms = true;
    dag_.columns = std::max(dag_.columns, next_phantom_);
    by_task_.emplace(key(head, q, kv), dag_.nodes.size());
    dag_.nodes.push_back(node);
    return dag_.nodes.size() - 1;
  }

  void add_reduce_order() {
    if (schedule_.row_begin.empty()) return;
    for (std::size_t row = 0; row + 1 < schedule_.row_begin.size(); ++row) {
      const auto head = static_cast<std::uint32_t>(row / static_cast<std::size_t>(q_tiles_));
      const auto q = static_cast<std::uint32_t>(row % static_cast<std::size_t>(q_tiles_));
      const auto order = schedule_.reduce_order(row);
      std::size_t before = no_node;
      for (std::size_t rank = 0; rank < order.size(); ++rank) {
        std::size_t node = find(head, q, order[rank]);
        if (node == no_node) {
          const std::size_t next = rank + 1 < order.size() ? find(head, q, order[rank + 1]) : no_node;
          node = phantom(head, q, order[rank], next == no_node ? 0 : dag_.nodes[next].step);
        }
        dag_.nodes[node].rank = static_cast<std::uint32_t>(rank);
        if (before != no_node) add_dependency(before, node, EdgeKind::reduce);
        before = node;
      }
    }
  }

  void add_dependency(std::size_t from, std::size_t to, EdgeKind kind) {
    DagEdge edge{from, to, kind, false, false, false, {}};
    const DagNode &a = dag_.nodes[from], &b = dag_.nodes[to];
    if (a.phantom) {
      edge.in_cycle = true;
      edge.wait = fmt::format("kv {} waits on row q {} of head {} for kv {}, which the mask skips", b.kv, b.q,
                              b.head, a.kv);
    } else if (!b.phantom && a.sm != b.sm && a.step >= b.step) {
      // Depth of the end of a's reduce against the start of b's: with equal costs, (step + 1)(c + r) > step(c
      // + r) + c.
      edge.against_lemma1 = true;
    }
    ++dag_.reduce_edges;
    dag_.against_lemma1 += edge.against_lemma1 ? 1 : 0;
    dag_.edges.push_back(std::move(edge));
  }

  // Grouped queries: the last task of a chain adds dK and dV in the group's order.
  void add_group_order() {
    const auto group = static_cast<std::size_t>(input_.problem->group_size());
    if (schedule_.group_order.empty() || group < 2) return;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> last;  // (head, kv) -> node
    for (std::size_t i = 0; i < dag_.nodes.size(); ++i) {
      const DagNode& node = dag_.nodes[i];
      if (!node.second_pass && !node.phantom) last[{node.head, node.kv}] = i;
    }
    for (std::size_t i = 0; i + 1 < schedule_.group_order.size(); ++i) {
      if ((i + 1) % group == 0) continue;
      const auto kv = static_cast<std::uint32_t>(i / group % static_cast<std::size_t>(kv_tiles_));
      const auto a = last.find({schedule_.group_order[i], kv}),
                 b = last.find({schedule_.group_order[i + 1], kv});
      if (a != last.end() && b != last.end()) add_dependency(a->second, b->second, EdgeKind::group);
    }
  }

  void mark_critical() {
    if (input_.timeline == nullptr) return;
    std::size_t before = no_node;
    std::map<std::pair<std::size_t, std::size_t>, bool> pairs;
    for (const CriticalStep& step : input_.timeline->critical_path) {
      const TaskSpan& task = input_.timeline->tasks[step.task];
      const auto& by_task = task.second_pass ? by_second_pass_ : by_task_;
      const auto found = by_task.find(key(index(task.head), index(task.q), index(task.kv)));
      if (found == by_task.end()) continue;
      const std::size_t node = found->second;
      dag_.nodes[node].critical = true;
      if (before != no_node && before != node) pairs[{before, node}] = true;
      before = node;
    }
    for (DagEdge& edge : dag_.edges) edge.critical = pairs.contains({edge.from, edge.to});
  }

  void mark_cycle() {
    if (input_.verification == nullptr) return;
    for (const VerifyError& error : input_.verification->errors) {
      if (error.cycle.empty()) continue;
      mark_cycle(error.cycle);
      return;
    }
  }

  void mark_cycle(const std::vector<CycleStep>& cycle) {
    std::vector<std::size_t> nodes;
    for (const CycleStep& step : cycle) {
      const std::size_t near = nodes.empty() ? 0 : dag_.nodes[nodes.back()].step;
      const std::size_t node =
          phantom(index(step.head), index(step.q), index(step.kv), static_cast<std::uint32_t>(near));
      dag_.nodes[node].in_cycle = true;
      nodes.push_back(node);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::size_t after = nodes[i], before = nodes[(i + 1) % nodes.size()];  // `after` needs `before`
      if (after == before) continue;
      if (cycle[(i + 1) % nodes.size()].by_program) {
        if (!mark_program(before, after)) continue;
      } else {
        mark_wait(before, after);
      }
    }
  }

  // The stretch of one SM's program from `from` to `to`; false when they do not share an SM.
  bool mark_program(std::size_t from, std::size_t to) {
    const DagNode &a = dag_.nodes[from], &b = dag_.nodes[to];
    if (a.phantom || b.phantom || a.sm != b.sm || a.step > b.step) return false;
    for (DagEdge& edge : dag_.edges)
      if (edge.kind == EdgeKind::program && edge.from >= from && edge.to <= to) edge.in_cycle = true;
    return true;
  }

  void mark_wait(std::size_t from, std::size_t to) {
    const DagNode &a = dag_.nodes[from], &b = dag_.nodes[to];
    std::string wait =
        a.phantom ? fmt::format("kv {} waits on row q {} of head {} for kv {}, which the mask skips", b.kv,
                                b.q, b.head, a.kv)
                  : fmt::format("kv {} waits for kv {} on row q {} of head {}", b.kv, a.kv, b.q, b.head);
    if (a.head != b.head) wait = fmt::format("head {} waits for head {} on kv {}", b.head, a.head, b.kv);
    for (DagEdge& edge : dag_.edges)
      if (edge.kind != EdgeKind::program && edge.from == from && edge.to == to) {
        edge.in_cycle = true;
        edge.wait = std::move(wait);
        return;
      }
    dag_.edges.push_back({from, to, EdgeKind::reduce, false, false, true, std::move(wait)});
  }

  [[nodiscard]] bool too_big() const {
    return dag_.nodes.size() > style_.most_nodes || dag_.columns > style_.most_steps;
  }

  void add_note(const std::string& text) { dag_.note += (dag_.note.empty() ? "" : "; ") + text; }

  void shrink() {
    if (!too_big()) return;
    if (keep_cycle()) return;
    collapse();
    if (dag_.columns > style_.most_steps || dag_.nodes.size() > style_.most_nodes) {
      const auto fitting = static_cast<std::uint32_t>(
          std::clamp<std::size_t>(style_.most_nodes / std::max(1u, dag_.rows), 1, style_.most_steps));
      keep([&](const DagNode& node) { return node.step < fitting; });
      dag_.columns = std::min(dag_.columns, fitting);
      add_note(fmt::format("only the first {} chains of each SM are drawn", fitting));
    }
  }

  template <typename Wanted>
  void keep(Wanted wanted) {
    std::vector<std::size_t> number(dag_.nodes.size(), no_node);
    std::vector<DagNode> nodes;
    for (std::size_t i = 0; i < dag_.nodes.size(); ++i)
      if (wanted(dag_.nodes[i])) {
        number[i] = nodes.size();
        nodes.push_back(dag_.nodes[i]);
      }
    std::vector<DagEdge> edges;
    for (DagEdge& edge : dag_.edges)
      if (number[edge.from] != no_node && number[edge.to] != no_node) {
        edge.from = number[edge.from], edge.to = number[edge.to];
        edges.push_back(std::move(edge));
      }
    dag_.nodes = std::move(nodes);
    dag_.edges = std::move(edges);
  }

  // Of a big schedule that deadlocks, the SMs of the cycle and the steps around it.
  bool keep_cycle() {
    std::vector<bool> rows(dag_.rows + 1, false);
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max(), last = 0;
    for (const DagNode& node : dag_.nodes) {
      if (!node.in_cycle) continue;
      rows[node.sm] = true;
      first = std::min(first, node.step), last = std::max(last, node.step);
    }
    if (first > last) return false;
    first -= std::min(first, 2u), last += 2;
    const auto wanted = [&](const DagNode& node) {
      return rows[node.sm] && node.step >= first && node.step <= last;
    };
    const auto count = static_cast<std::size_t>(std::count_if(dag_.nodes.begin(), dag_.nodes.end(), wanted));
    if (count > style_.most_nodes || last - first + 1 > style_.most_steps) return false;
    keep(wanted);
    for (DagNode& node : dag_.nodes) node.step -= first;
    dag_.columns = last - first + 1;
    add_note(fmt::format("{} tasks: only those around the deadlock are drawn", count_text(dag_.tasks)));
    return true;
  }

  void collapse() {
    std::vector<std::size_t> number(dag_.nodes.size(), no_node);
    std::vector<DagNode> chains;
    std::vector<std::uint32_t> width(dag_.rows + 1, 0);
    for (std::size_t i = 0; i < dag_.nodes.size(); ++i) {
      const DagNode& node = dag_.nodes[i];
      if (node.phantom) continue;
      if (chains.empty() || chains.back().chain != node.chain || chains.back().sm != node.sm) {
        DagNode chain = node;
        chain.tasks = 0;
        chain.critical = chain.in_cycle = false;
        chain.step = width[node.sm]++;
        chains.push_back(chain);
      }
      number[i] = chains.size() - 1;
      ++chains.back().tasks;
      chains.back().critical = chains.back().critical || node.critical;
      chains.back().in_cycle = chains.back().in_cycle || node.in_cycle;
    }
    std::map<std::tuple<std::size_t, std::size_t, EdgeKind>, DagEdge> merged;
    for (const DagEdge& edge : dag_.edges) {
      const std::size_t from = number[edge.from], to = number[edge.to];
      if (from == no_node || to == no_node || from == to) continue;
      DagEdge& sum =
          merged.try_emplace({from, to, edge.kind}, DagEdge{from, to, edge.kind, false, false, false, {}})
              .first->second;
      sum.critical = sum.critical || edge.critical;
      sum.in_cycle = sum.in_cycle || edge.in_cycle;
      sum.against_lemma1 = sum.against_lemma1 || edge.against_lemma1;
    }
    dag_.nodes = std::move(chains);
    dag_.edges.clear();
    for (auto& [ends, edge] : merged) dag_.edges.push_back(std::move(edge));
    dag_.columns = *std::max_element(width.begin(), width.end());
    dag_.phantoms = false;
    dag_.collapsed = true;
    add_note(
        fmt::format("{} tasks are too many to draw one by one: each box is a chain", count_text(dag_.tasks)));
  }

  const DagInput& input_;
  const DagStyle& style_;
  const Schedule& schedule_;
  std::int64_t q_tiles_, kv_tiles_;
  std::vector<std::vector<std::uint32_t>> lists_;  // chains of each SM
  std::unordered_map<std::uint64_t, std::size_t> by_task_, by_second_pass_;
  std::uint32_t next_phantom_ = 0;
  Dag dag_;
};

}  // namespace

Dag build_dag(const DagInput& input, const DagStyle& style) {
  return Builder(input, style).build();
}

}  // namespace dashlab::viz
