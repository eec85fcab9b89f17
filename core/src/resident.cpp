#include "resident.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

#include "dashlab/core/error.hpp"
#include "task_costs.hpp"

namespace dashlab {
namespace {

// A line of adds with an order: a dQ row, or the dK/dV of a group.
struct Line {
  std::size_t next = 0;  // place in the order whose turn it is
  std::int64_t end = 0;  // of the add before
  std::uint32_t sm = 0;
  std::map<std::size_t, std::size_t> parked;  // place -> CTA slot that waits for its turn
};

struct Cta {
  std::size_t chain = 0;
  std::uint64_t step = 0;
  TaskSpan span;
};

struct Sm {
  std::int64_t engine_free = 0;
  std::int64_t first = -1;
  std::int64_t last = 0;
  std::int64_t busy = 0;
};

enum class Event : std::uint8_t { launch, compute, add, group_add };

class ResidentRun {
 public:
  ResidentRun(const Problem& problem, const TileMap& tiles, const Schedule& schedule, const Costs& costs,
              std::uint32_t resident, Timeline* timeline)
      : problem_(problem),
        tiles_(tiles),
        schedule_(schedule),
        task_costs_(tiles, schedule, costs),
        timeline_(timeline),
        sms_(schedule.sms),
        ctas_(std::size_t{schedule.sms} * resident),
        rows_(schedule.row_begin.size()),
        groups_(schedule.group_order.size()),
        sm_of_chain_(schedule.chains.size(), 0) {}

  std::optional<Simulation> run() {
    // A GPU fills its SMs in turn: CTA i of the first wave goes to SM i mod S.
    for (std::size_t slot = 0; slot < ctas_.size(); ++slot) push(0, slot, Event::launch);
    while (!events_.empty()) {
      const auto [time, order, slot, event] = events_.top();
      events_.pop();
      handle(time, slot, event);
    }
    if (ended_ < schedule_.chains.size()) return std::nullopt;
    return totals();
  }

 private:
  void push(std::int64_t time, std::size_t slot, Event event) {
    events_.emplace(time, order_++, slot, event);
  }
  [[nodiscard]] std::uint32_t sm_of(std::size_t slot) const noexcept {
    return static_cast<std::uint32_t>(slot % schedule_.sms);
  }

  void handle(std::int64_t time, std::size_t slot, Event event) {
    switch (event) {
      case Event::launch:
        return launch(time, slot);
      case Event::compute:
        return compute(time, slot);
      case Event::add:
        return add(time, slot);
      case Event::group_add:
        return group_add(time, slot);
    }
  }

  void launch(std::int64_t time, std::size_t slot) {
    if (launched_ == schedule_.chains.size()) return;
    ctas_[slot].chain = launched_++;
    ctas_[slot].step = schedule_.chain_begin[ctas_[slot].chain];
    sm_of_chain_[ctas_[slot].chain] = sm_of(slot);
    push(time, slot, Event::compute);
  }

  // Events come in the order of time, so the engine serves whoever was ready first.
  void compute(std::int64_t time, std::size_t slot) {
    Cta& cta = ctas_[slot];
    Sm& sm = sms_[sm_of(slot)];
    const std::int64_t ticks = task_costs_(cta.chain, cta.step).compute;
    const std::int64_t start = std::max(time, sm.engine_free);
    sm.engine_free = start + ticks;
    sm.busy += ticks;
    sm.last = sm.engine_free;
    if (sm.first < 0) sm.first = start;
    cta.span = span_of_task(schedule_, cta.chain, cta.step);
    cta.span.sm = SmId{sm_of(slot)};
    cta.span.compute_start = start;
    cta.span.compute_end = sm.engine_free;
    push(sm.engine_free, slot, Event::add);
  }

  void add(std::int64_t time, std::size_t slot) {
    Cta& cta = ctas_[slot];
    const Chain& chain = schedule_.chains[cta.chain];
    if (schedule_.dq_mode != DqMode::ordered || chain.second_pass) {
      add_now(time, slot);
      return;
    }
    const std::size_t row = std::size_t{index(cta.span.head)} * tiles_.q_tiles() + index(cta.span.q);
    const auto order = schedule_.reduce_order(row);
    const auto place = static_cast<std::size_t>(std::ranges::find(order, chain.tile) - order.begin());
    cta.span.rank = static_cast<std::uint32_t>(place);
    Line& line = rows_[row];
    if (line.next != place) {
      line.parked.emplace(place, slot);
      return;
    }
    const std::int64_t link = place > 0 && line.sm != sm_of(slot) ? task_costs_.ticks().link : 0;
    line.end = add_now(std::max(time, place > 0 ? line.end + link : 0), slot);
    line.sm = sm_of(slot);
    pass_on(line, time, Event::add);
  }

  std::int64_t add_now(std::int64_t start, std::size_t slot) {
    Cta& cta = ctas_[slot];
    const std::int64_t end = start + task_costs_(cta.chain, cta.step).reduce;
    cta.span.reduce_start = start;
    cta.span.reduce_end = end;
    makespan_ = std::max(makespan_, end);
    if (timeline_) timeline_->tasks.push_back(cta.span);
    const bool chain_done = ++cta.step == schedule_.chain_begin[cta.chain + 1];
    const bool grouped = !schedule_.group_order.empty() && !schedule_.chains[cta.chain].second_pass;
    if (!chain_done) {
      push(end, slot, Event::compute);
    } else if (grouped) {
      push(end, slot, Event::group_add);
    } else {
      finish(end, slot);
    }
    return end;
  }

  void group_add(std::int64_t time, std::size_t slot) {
    const Chain& chain = schedule_.chains[ctas_[slot].chain];
    const auto group = static_cast<std::size_t>(problem_.group_size());
    const std::size_t row =
        std::size_t{problem_.kv_head_of(HeadId{chain.head})} * tiles_.kv_tiles() + chain.tile;
    const auto begin = schedule_.group_order.begin() + static_cast<std::ptrdiff_t>(row * group);
    const auto place = static_cast<std::size_t>(
        std::find(begin, begin + static_cast<std::ptrdiff_t>(group), chain.head) - begin);
    Line& line = groups_[row];
    if (line.next != place) {
      line.parked.emplace(place, slot);
      return;
    }
    line.end =
        std::max(time, place > 0 ? line.end + task_costs_.ticks().link : 0) + task_costs_.ticks().reduce;
    makespan_ = std::max(makespan_, line.end);
    finish(line.end, slot);
    pass_on(line, time, Event::group_add);
  }

  void pass_on(Line& line, std::int64_t time, Event event) {
    const auto waiting = line.parked.find(++line.next);
    if (waiting == line.parked.end()) return;
    push(time, waiting->second, event);
    line.parked.erase(waiting);
  }

  void finish(std::int64_t time, std::size_t slot) {
    ++ended_;
    push(time, slot, Event::launch);
  }

  Simulation totals() {
    Simulation sim;
    sim.ticks_per_unit = task_costs_.ticks().per_unit;
    sim.makespan = makespan_;
    for (const Sm& sm : sms_) {
      SmUse use;
      use.busy = sm.busy;
      use.startup = std::max<std::int64_t>(sm.first, 0);
      use.reduce_wait = sm.first < 0 ? 0 : sm.last - sm.first - sm.busy;
      use.tail = makespan_ - use.busy - use.startup - use.reduce_wait;
      sim.work += use.busy;
      sim.startup += use.startup;
      sim.reduce_wait += use.reduce_wait;
      sim.tail += use.tail;
      sim.sms.push_back(use);
    }
    sim.sm_of_chain = std::move(sm_of_chain_);
    return sim;
  }

  using Entry =
      std::tuple<std::int64_t, std::uint64_t, std::size_t, Event>;  // time, order of arrival, slot, event

  const Problem& problem_;
  const TileMap& tiles_;
  const Schedule& schedule_;
  TaskCosts task_costs_;
  Timeline* timeline_;
  std::vector<Sm> sms_;
  std::vector<Cta> ctas_;
  std::vector<Line> rows_;
  std::vector<Line> groups_;
  std::vector<std::uint32_t> sm_of_chain_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  std::size_t launched_ = 0;
  std::size_t ended_ = 0;
  std::int64_t makespan_ = 0;
};

}  // namespace

std::optional<Simulation> simulate_resident(const Problem& problem, const TileMap& tiles,
                                            const Schedule& schedule, const Costs& costs,
                                            std::uint32_t resident_per_sm, Timeline* timeline) {
  if (schedule.placement != Placement::dynamic) {
    throw BadInput(
        fmt::format("schedule {}: gives each SM one list of chains; several resident CTAs need a queue "
                    "(dynamic placement)",
                    schedule.name));
  }
  if (costs.overlap_depth > 0)
    throw BadInput("--model: several resident CTAs overlap by themselves; use serial");
  return ResidentRun(problem, tiles, schedule, costs, resident_per_sm, timeline).run();
}

}  // namespace dashlab
