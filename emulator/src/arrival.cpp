#include "dashlab/emulator/arrival.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <tuple>
#include <vector>

#include "dashlab/core/error.hpp"
#include "dashlab/emulator/seeded_values.hpp"

namespace dashlab {

namespace {

/// The end of a task on an SM. Ordered by time, then SM.
struct Event {
  std::uint64_t time;
  std::uint32_t sm;
  std::uint32_t chain;
  std::uint64_t step;
  friend bool operator>(const Event& a, const Event& b) {
    return std::tie(a.time, a.sm) > std::tie(b.time, b.sm);
  }
};

class Arrivals {
 public:
  Arrivals(const Schedule& schedule, std::uint64_t seed) : schedule_(schedule), seed_(seed) {
    const bool fixed = schedule.placement == Placement::static_lists;
    next_.assign(schedule.sms, 0);
    if (fixed) std::copy_n(schedule.sm_begin.begin(), schedule.sms, next_.begin());
    for (std::uint32_t sm = 0; sm < schedule.sms; ++sm) start_chain(sm, 0);
  }

  /// Calls `ended(chain, step, chain_ends)` for every task in order of arrival.
  template <typename Ended>
  void run(Ended ended) {
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      const bool chain_ends = event.step + 1 == schedule_.chain_begin[event.chain + 1];
      ended(event.chain, event.step, chain_ends);
      if (chain_ends)
        start_chain(event.sm, event.time);
      else
        start_task(event.sm, event.time, event.chain, event.step + 1);
    }
  }

 private:
  void start_chain(std::uint32_t sm, std::uint64_t now) {
    const bool fixed = schedule_.placement == Placement::static_lists;
    std::uint64_t& next = fixed ? next_[sm] : queue_;
    const std::uint64_t end = fixed ? schedule_.sm_begin[sm + 1] : schedule_.chains.size();
    while (next < end && schedule_.chain_steps(next).empty()) ++next;
    if (next == end) return;
    const auto chain = static_cast<std::uint32_t>(next++);
    start_task(sm, now, chain, schedule_.chain_begin[chain]);
  }
  void start_task(std::uint32_t sm, std::uint64_t now, std::uint32_t chain, std::uint64_t step) {
    constexpr std::uint64_t unit = 1 << 16;
    const std::uint64_t extra = seeded::words(seed_, seeded::Stream::arrival, step).w[0] % unit;
    events_.push({now + unit + extra, sm, chain, step});
  }

  const Schedule& schedule_;
  std::uint64_t seed_;
  std::uint64_t queue_ = 0;
  std::vector<std::uint64_t> next_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace

Schedule arrival_order(const Problem& problem, const Schedule& schedule, std::uint64_t seed) {
  if (schedule.dq_mode == DqMode::second_pass)
    throw BadInput(fmt::format(
        "schedule '{}' reduces nothing, so arrival cannot matter; choose another schedule", schedule.name));
  const auto q_tiles = static_cast<std::size_t>(problem.q_tiles());
  const auto kv_tiles = static_cast<std::size_t>(problem.kv_tiles());
  std::vector<std::vector<std::uint32_t>> rows(static_cast<std::size_t>(problem.total_heads()) * q_tiles);
  std::vector<std::vector<std::uint32_t>> groups(
      schedule.group_order.empty() ? 0
                                   : static_cast<std::size_t>(problem.batch * problem.kv_heads) * kv_tiles);
  Arrivals(schedule, seed).run([&](std::uint32_t chain, std::uint64_t step, bool chain_ends) {
    const Chain& c = schedule.chains[chain];
    const std::uint32_t head = schedule.head_of_step(chain, step);
    rows[head * q_tiles + schedule.steps[step]].push_back(c.tile);
    if (chain_ends && !groups.empty())
      groups[problem.kv_head_of(HeadId{c.head}) * kv_tiles + c.tile].push_back(c.head);
  });
  Schedule arrived = schedule;
  arrived.dq_mode = DqMode::ordered;
  arrived.row_begin.assign(1, 0);
  arrived.reduce_kv.clear();
  for (const auto& row : rows) {
    arrived.reduce_kv.insert(arrived.reduce_kv.end(), row.begin(), row.end());
    arrived.row_begin.push_back(arrived.reduce_kv.size());
  }
  // A kv tile that no query sees has no chains and keeps the order it had.
  const auto group_size = static_cast<std::size_t>(problem.group_size());
  for (std::size_t tile = 0; tile < groups.size(); ++tile)
    if (groups[tile].size() == group_size)
      std::copy(groups[tile].begin(), groups[tile].end(),
                arrived.group_order.begin() + static_cast<std::ptrdiff_t>(tile * group_size));
  return arrived;
}

}  // namespace dashlab
