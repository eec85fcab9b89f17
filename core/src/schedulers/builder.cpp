#include "builder.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "../memory.hpp"
#include "../row_layout.hpp"

namespace dashlab {
namespace {

// Greedy list placement: returns for each item of the given order the SM with the least load.
class LeastLoaded {
 public:
  explicit LeastLoaded(std::uint32_t sms) {
    for (std::uint32_t sm = 0; sm < sms; ++sm) queue_.emplace(0, sm);
  }
  std::uint32_t place(std::uint64_t tasks) {
    const auto [load, sm] = queue_.top();
    queue_.pop();
    queue_.emplace(load + tasks, sm);
    return sm;
  }
  std::vector<std::uint64_t> loads() {
    std::vector<std::uint64_t> result(queue_.size());
    for (; !queue_.empty(); queue_.pop()) result[queue_.top().second] = queue_.top().first;
    return result;
  }

 private:
  using Entry = std::pair<std::uint64_t, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

ScheduleBuilder::ScheduleBuilder(std::string_view name, const Problem& problem, const TileMap& tiles,
                                 const ScheduleOptions& options)
    : problem_(problem), tiles_(tiles) {
  schedule_.name = name;
  schedule_.sms = options.sms;
  schedule_.group_mode = options.group_mode;
  const bool gathered = options.group_mode == GroupMode::gathered;
  owners_ = static_cast<std::uint32_t>(problem.batch * (gathered ? problem.kv_heads : problem.heads));
  heads_per_chain_ = gathered ? static_cast<std::uint32_t>(problem.group_size()) : 1;
  // A step, a place in a reduce order, its q order before it is placed, and its share of chains and rows.
  constexpr std::uint64_t bytes_per_task = 13;
  const auto heads = static_cast<std::uint64_t>(problem.total_heads());
  require_memory(bytes_per_task * tiles.tasks_per_head() * heads, "the schedule");
  schedule_.steps.reserve(tiles.tasks_per_head() * static_cast<std::uint64_t>(problem.total_heads()));
  schedule_.chains.reserve(std::size_t{owners_} * tiles.kv_tiles());
  schedule_.chain_begin.reserve(schedule_.chains.capacity() + 1);
}

std::uint32_t ScheduleBuilder::first_head(std::uint32_t owner) const noexcept {
  return owner *
         heads_per_chain_;  // groups are contiguous within a batch entry, and batch entries follow each other
}

void ScheduleBuilder::add_chain(std::uint32_t owner, std::uint32_t kv,
                                std::span<const std::uint32_t> q_order) {
  if (q_order.empty()) return;  // the mask leaves the kv tile no task: nothing to run
  schedule_.chains.push_back({owner, kv, false});
  for (std::uint32_t i = 0; i < heads_per_chain_; ++i) {
    schedule_.steps.insert(schedule_.steps.end(), q_order.begin(), q_order.end());
    if (heads_per_chain_ > 1) {
      schedule_.step_head.insert(schedule_.step_head.end(), q_order.size(), first_head(owner) + i);
    }
  }
  schedule_.chain_begin.push_back(schedule_.steps.size());
}

void ScheduleBuilder::add_second_pass_chain(std::uint32_t head, std::uint32_t q) {
  const auto row = tiles_.row(QTile{q});
  if (row.empty()) return;
  schedule_.chains.push_back({head, q, true});
  schedule_.steps.insert(schedule_.steps.end(), row.begin(), row.end());
  if (heads_per_chain_ > 1) schedule_.step_head.insert(schedule_.step_head.end(), row.size(), head);
  schedule_.chain_begin.push_back(schedule_.steps.size());
}

void ScheduleBuilder::place_statically(std::vector<Unit> units) {
  schedule_.placement = Placement::static_lists;
  std::vector<std::size_t> order(units.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::size_t> tasks(units.size());
  std::ranges::transform(units, tasks.begin(), &Unit::tasks);
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return tasks[i]; });

  std::vector<std::vector<std::size_t>> on_sm(schedule_.sms);
  LeastLoaded placer(schedule_.sms);
  for (std::size_t i : order) on_sm[placer.place(tasks[i])].push_back(i);
  schedule_.sm_begin.assign(1, 0);
  for (const auto& list : on_sm) {
    for (std::size_t i : list) {
      for (const auto& chain : units[i].chains) add_chain(chain.owner, chain.kv, chain.q_order);
    }
    schedule_.sm_begin.push_back(schedule_.chains.size());
  }
}

void ScheduleBuilder::start_rows() {
  schedule_.row_begin = row_starts(problem_, tiles_);
  schedule_.reduce_kv.resize(schedule_.row_begin.back());
}

void ScheduleBuilder::reduce_ascending() {
  start_rows();
  auto out = schedule_.reduce_kv.begin();
  for (std::int64_t head = 0; head < problem_.total_heads(); ++head) {
    for (std::uint32_t q = 0; q < tiles_.q_tiles(); ++q)
      out = std::ranges::copy(tiles_.row(QTile{q}), out).out;
  }
}

void ScheduleBuilder::reduce_descending() {
  reduce_ascending();
  for (std::size_t row = 0; row + 1 < schedule_.row_begin.size(); ++row) {
    std::reverse(schedule_.reduce_kv.begin() + static_cast<std::ptrdiff_t>(schedule_.row_begin[row]),
                 schedule_.reduce_kv.begin() + static_cast<std::ptrdiff_t>(schedule_.row_begin[row + 1]));
  }
}

void ScheduleBuilder::reduce_by_arrival() {
  start_rows();
  std::vector<std::uint64_t> fill(schedule_.row_begin.begin(), schedule_.row_begin.end() - 1);
  struct Walker {
    std::size_t chain;
    std::size_t chain_end;
    std::uint64_t step;
  };
  std::vector<Walker> walkers;
  for (std::uint32_t sm = 0; sm < schedule_.sms; ++sm) {
    const std::size_t first = schedule_.sm_begin[sm];
    if (first < schedule_.sm_begin[sm + 1]) {
      walkers.push_back({first, schedule_.sm_begin[sm + 1], schedule_.chain_begin[first]});
    }
  }
  while (!walkers.empty()) {
    for (Walker& w : walkers) {
      const std::uint64_t row =
          std::uint64_t{schedule_.head_of_step(w.chain, w.step)} * tiles_.q_tiles() + schedule_.steps[w.step];
      schedule_.reduce_kv[fill[row]++] = schedule_.chains[w.chain].tile;
      if (++w.step == schedule_.chain_begin[w.chain + 1]) ++w.chain;  // SM lists are contiguous in steps
    }
    std::erase_if(walkers, [](const Walker& w) { return w.chain == w.chain_end; });
  }
}

Schedule ScheduleBuilder::finish(DqMode mode) {
  schedule_.dq_mode = mode;
  if (schedule_.group_mode == GroupMode::per_head) {
    schedule_.group_order = ascending_groups(problem_, tiles_);
  }
  return std::move(schedule_);
}

std::vector<std::uint64_t> loads_after_placing(std::vector<std::size_t> unit_tasks, std::uint32_t sms) {
  std::ranges::stable_sort(unit_tasks, std::greater<>{});
  LeastLoaded placer(sms);
  for (std::size_t tasks : unit_tasks) placer.place(tasks);
  return placer.loads();
}

}  // namespace dashlab
