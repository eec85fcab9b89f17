#include "arrival_run.hpp"

#include <algorithm>

#include "../row_layout.hpp"

namespace dashlab {

ArrivalRun::ArrivalRun(const Problem& problem, const TileMap& tiles, GroupMode group_mode, const Costs& costs)
    : problem_(problem),
      tiles_(tiles),
      depth_(costs.overlap_depth),
      grouped_(problem.group_size() > 1 && group_mode == GroupMode::per_head),
      group_(static_cast<std::size_t>(problem.group_size())) {
  Costs plain = costs;
  plain.jitter.reset();
  ticks_ = in_ticks(plain, DqMode::ordered);
  row_begin_ = row_starts(problem, tiles);
  reduce_kv_.resize(row_begin_.back());
  if (grouped_) {
    group_order_ = ascending_groups(problem, tiles);  // stays like this for kv tiles without a task
    group_next_.resize(group_order_.size() / group_);
    group_end_.resize(group_next_.size());
  }
}

std::int64_t ArrivalRun::operator()(const Walks& walks) {
  row_next_.assign(row_begin_.begin(), row_begin_.end() - 1);
  rows_.assign(row_next_.size(), {});
  group_next_.assign(group_next_.size(), 0);
  engines_.assign(walks.size(), Engine(depth_));
  sm_end_.assign(walks.size(), 0);
  wait_ = 0;
  waiting_.clear();
  for (std::uint32_t sm = 0; sm < walks.size(); ++sm) {
    if (!walks[sm].empty()) announce(walks, sm);
  }
  while (!waiting_.empty()) {
    const std::uint32_t sm = waiting_.front().second;
    std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>{});
    waiting_.pop_back();
    Engine& engine = engines_[sm];
    const Walk& walk = walks[sm][engine.walk];
    if (engine.step < walk.rows.size()) {
      add_to_row(walk, sm);
      ++engine.step;
    } else {
      add_to_group(walk, sm);
      engine.step = walk.rows.size() + 1;
    }
    if (engine.step == walk.rows.size() + (grouped_ ? 1 : 0)) {
      engine.step = 0;
      if (++engine.walk == walks[sm].size()) {
        sm_end_[sm] = std::max(engine.compute_end, engine.add_end);
        continue;
      }
    }
    announce(walks, sm);
  }
  return sm_end_.empty() ? 0 : std::ranges::max(sm_end_);
}

// Starts the next compute phase of an SM, and says from when on its add could begin.
void ArrivalRun::announce(const Walks& walks, std::uint32_t sm) {
  Engine& engine = engines_[sm];
  const Walk& walk = walks[sm][engine.walk];
  std::int64_t ready = std::max(engine.compute_end, engine.add_end);
  if (engine.step < walk.rows.size()) {
    const std::int64_t start = std::max(engine.compute_end, engine.adds.oldest());
    engine.compute_end = start + compute_ticks(walk, engine.step);
    ready = std::max(engine.compute_end, engine.add_end);
  }
  waiting_.emplace_back(ready, sm);
  std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>{});
}

void ArrivalRun::add_to_row(const Walk& walk, std::uint32_t sm) {
  Engine& engine = engines_[sm];
  const std::uint32_t row = walk.rows[engine.step];
  const std::int64_t ready = std::max(engine.compute_end, engine.add_end);
  std::int64_t start = ready;
  if (row_next_[row] > row_begin_[row]) {
    start = std::max(start, rows_[row].end + (rows_[row].sm != sm ? ticks_.link : 0));
  }
  wait_ += start - ready;
  engine.add_end = start + ticks_.reduce;
  engine.adds.push(engine.add_end);
  rows_[row] = {engine.add_end, sm};
  reduce_kv_[row_next_[row]++] = walk.kv;
}

void ArrivalRun::add_to_group(const Walk& walk, std::uint32_t sm) {
  Engine& engine = engines_[sm];
  const std::size_t row = group_row(walk);
  const std::int64_t ready = std::max(engine.compute_end, engine.add_end);
  const std::int64_t start = group_next_[row] == 0 ? ready : std::max(ready, group_end_[row] + ticks_.link);
  wait_ += start - ready;
  engine.compute_end = start + ticks_.reduce;
  engine.add_end = std::max(engine.add_end, engine.compute_end);
  group_end_[row] = engine.compute_end;
  group_order_[row * group_ + group_next_[row]++] = walk.owner;
}

std::int64_t ArrivalRun::compute_ticks(const Walk& walk, std::size_t step) const {
  const std::int64_t lead = step == 0 ? ticks_.chain : 0;
  if (ticks_.compute == ticks_.compute_partial) return lead + ticks_.compute;
  const TileClass tile = tiles_.at(QTile{walk.rows[step] % tiles_.q_tiles()}, KvTile{walk.kv});
  return lead + (tile == TileClass::partial ? ticks_.compute_partial : ticks_.compute);
}

std::int64_t ArrivalRun::work(const Walk& walk) const {
  std::int64_t sum = grouped_ ? ticks_.reduce : 0;
  for (std::size_t step = 0; step < walk.rows.size(); ++step) {
    sum += compute_ticks(walk, step) + (depth_ == 0 ? ticks_.reduce : 0);
  }
  return sum;
}

std::uint32_t ArrivalRun::lead_in_tasks() const noexcept {
  const std::int64_t task = ticks_.compute + (depth_ == 0 ? ticks_.reduce : 0);
  return task == 0 ? 0 : static_cast<std::uint32_t>((2 * ticks_.chain + task) / (2 * task));
}

std::size_t ArrivalRun::group_row(const Walk& walk) const {
  return std::size_t{problem_.kv_head_of(HeadId{walk.owner})} * tiles_.kv_tiles() + walk.kv;
}

ReduceOrders ArrivalRun::orders() const {
  return {reduce_kv_, group_order_};
}

}  // namespace dashlab
