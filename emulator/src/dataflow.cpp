#include "dataflow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "dashlab/core/error.hpp"

namespace dashlab {

namespace {
constexpr std::uint32_t no_chain = ~std::uint32_t{0};
}

Dataflow::Dataflow(const Problem& problem, const Schedule& schedule, const RunControl& control)
    : schedule_(schedule),
      control_(control),
      q_tiles_(static_cast<std::uint32_t>(problem.q_tiles())),
      kv_tiles_(static_cast<std::uint64_t>(problem.kv_tiles())),
      heads_per_chain_(schedule.group_mode == GroupMode::gathered
                           ? static_cast<std::uint32_t>(problem.group_size())
                           : 1u) {
  const std::size_t chains = schedule.chains.size();
  position_.assign(chains, 0);
  busy_.assign(chains, 0);
  if (schedule.dq_mode == DqMode::ordered)
    row_next_.assign(static_cast<std::size_t>(problem.total_heads()) * q_tiles_, 0);
  const std::size_t units = static_cast<std::size_t>(problem.total_heads()) / heads_per_chain_;
  chain_of_tile_.assign(units * kv_tiles_, no_chain);
  // Chains by unit: a second-pass chain belongs to the unit of its q head.
  std::vector<std::uint32_t> unit(chains);
  unit_begin_.assign(units + 1, 0);
  for (std::size_t c = 0; c < chains; ++c) {
    const Chain& chain = schedule.chains[c];
    unit[c] = chain.second_pass ? chain.head / heads_per_chain_ : chain.head;
    ++unit_begin_[unit[c] + 1];
    if (!chain.second_pass)
      chain_of_tile_[chain.head * kv_tiles_ + chain.tile] = static_cast<std::uint32_t>(c);
  }
  std::partial_sum(unit_begin_.begin(), unit_begin_.end(), unit_begin_.begin());
  by_unit_.resize(chains);
  order_.resize(chains);
  auto at = unit_begin_;
  for (std::size_t c = 0; c < chains; ++c) {
    order_[c] = static_cast<std::uint32_t>(at[unit[c]]++);
    by_unit_[order_[c]] = static_cast<std::uint32_t>(c);
  }
}

bool Dataflow::ready(std::uint32_t chain) const {
  const auto steps = schedule_.chain_steps(chain);
  if (position_[chain] == steps.size()) return false;
  const Chain& c = schedule_.chains[chain];
  if (c.second_pass || schedule_.dq_mode != DqMode::ordered) return true;
  const std::uint64_t step = schedule_.chain_begin[chain] + position_[chain];
  const std::uint64_t row = row_of(schedule_.head_of_step(chain, step), schedule_.steps[step]);
  const auto order = schedule_.reduce_order(row);
  return row_next_[row] < order.size() && order[row_next_[row]] == c.tile;
}

void Dataflow::offer(std::uint32_t chain) {
  if (busy_[chain] != 0 || !ready(chain)) return;
  busy_[chain] = 1;
  offers_.push(order_[chain]);
}

void Dataflow::open_unit() {
  const std::uint64_t begin = unit_begin_[open_units_];
  const std::uint64_t end = unit_begin_[++open_units_];
  for (std::uint64_t i = begin; i < end; ++i) offer(by_unit_[i]);
}

ReadyTask Dataflow::take(std::uint32_t chain) {
  const Chain& c = schedule_.chains[chain];
  ReadyTask task;
  task.chain = chain;
  task.step = schedule_.chain_begin[chain] + position_[chain];
  task.chain_starts = position_[chain] == 0;
  task.chain_ends = task.step + 1 == schedule_.chain_begin[chain + 1];
  task.head = schedule_.head_of_step(chain, task.step);
  task.q = c.second_pass ? c.tile : schedule_.steps[task.step];
  task.kv = c.second_pass ? schedule_.steps[task.step] : c.tile;
  task.reduces = !c.second_pass && schedule_.dq_mode == DqMode::ordered;
  if (task.reduces) {
    const std::uint64_t row = row_of(task.head, task.q);
    task.rank = row_next_[row];
    task.row_ends = task.rank + 1 == schedule_.reduce_order(row).size();
  }
  busy_[chain] = 1;
  ++running_;
  return task;
}

void Dataflow::finish(const ReadyTask& task) {
  --running_;
  ++done_;
  ++position_[task.chain];
  busy_[task.chain] = 0;
  if (task.reduces) {
    const std::uint64_t row = row_of(task.head, task.q);
    const auto order = schedule_.reduce_order(row);
    if (++row_next_[row] < order.size()) {
      const std::uint32_t successor =
          chain_of_tile_[task.head / heads_per_chain_ * kv_tiles_ + order[row_next_[row]]];
      if (successor != no_chain && successor != task.chain) {
        const bool opened = order_[successor] < unit_begin_[open_units_];
        if (opened) offer(successor);
      }
    }
  }
  if (control_.progress) control_.progress(done_, schedule_.steps.size());
}

std::optional<ReadyTask> Dataflow::next(const std::optional<ReadyTask>& finished) {
  std::unique_lock lock(mutex_);
  if (finished) {
    const std::size_t before = offers_.size();
    finish(*finished);
    if (offers_.size() > before || done_ == schedule_.steps.size()) changed_.notify_all();
  }
  if (control_.stop != nullptr && control_.stop->load()) {
    leave_ = true;
    changed_.notify_all();
    throw Interrupted();
  }
  // Its own chain first: the kv tile is in this core's caches.
  if (finished && !leave_ && ready(finished->chain)) return take(finished->chain);
  for (;;) {
    if (leave_ || done_ == schedule_.steps.size()) return std::nullopt;
    while (offers_.empty() && open_units_ + 1 < unit_begin_.size()) open_unit();
    if (!offers_.empty()) {
      const std::uint32_t chain = by_unit_[offers_.top()];
      offers_.pop();
      if (!offers_.empty()) changed_.notify_one();
      return take(chain);
    }
    if (running_ == 0) {
      leave_ = true;
      changed_.notify_all();
      throw BadInput(
          fmt::format("schedule '{}' deadlocks after {} of {} tasks; `dashlab verify` shows the cycle",
                      schedule_.name, done_, schedule_.steps.size()));
    }
    changed_.wait(lock);
  }
}

void Dataflow::abandon() {
  const std::lock_guard lock(mutex_);
  leave_ = true;
  changed_.notify_all();
}

}  // namespace dashlab
