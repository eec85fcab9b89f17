// Random problems, masks, schedules and costs against a second, naive simulator that shares no code with
// core.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "dashlab/core/error.hpp"
#include "planning.hpp"

using namespace dashlab;
using namespace dashlab::test;

namespace {

// Runs a schedule by looking at every SM again and again: start whatever can start, at the time it can.
// Serial model. Returns the makespan in ticks of 1/4, or nothing when it gets stuck. `slots` CTAs at a time.
std::optional<std::int64_t> naive_makespan(const Plan& plan, std::int64_t compute, std::int64_t reduce,
                                           std::int64_t link, std::int64_t chain, std::size_t slots) {
  const Schedule& s = plan.schedule;
  using Row = std::pair<std::uint32_t, std::uint32_t>;
  std::map<Row, std::size_t> added;
  std::map<Row, std::pair<std::int64_t, std::size_t>> last_add;  // end, slot
  std::map<Row, std::size_t> group_added;
  std::map<Row, std::int64_t> group_end;
  const bool dynamic = s.placement == Placement::dynamic;
  const std::size_t ctas = dynamic ? s.chains.size() : s.sms;
  struct Worker {
    bool active = false;
    std::size_t chain = 0, chain_end = 0;
    std::uint64_t step = 0;
    std::int64_t time = 0;
  };
  std::vector<Worker> workers(slots);
  std::size_t launched = 0;
  const auto group = static_cast<std::size_t>(plan.problem.group_size());
  while (true) {
    bool moved = false;
    for (std::size_t slot = 0; slot < slots; ++slot) {
      Worker& w = workers[slot];
      if (!w.active) continue;
      if (w.chain == w.chain_end) {
        w.active = false;
        moved = true;
        continue;
      }
      const Chain& c = s.chains[w.chain];
      if (w.step == s.chain_begin[w.chain + 1]) {
        if (!s.group_order.empty() && !c.second_pass) {
          const Row row{plan.problem.kv_head_of(HeadId{c.head}), c.tile};
          const std::size_t place = (std::size_t{row.first} * plan.tiles.kv_tiles() + row.second) * group;
          if (s.group_order[place + group_added[row]] != c.head) continue;
          w.time = std::max(w.time, group_added[row] == 0 ? 0 : group_end[row] + link) + reduce;
          group_end[row] = w.time;
          ++group_added[row];
        }
        ++w.chain;
        if (w.chain < w.chain_end) w.step = s.chain_begin[w.chain];
        moved = true;
        continue;
      }
      const Row row{s.head_of_step(w.chain, w.step), s.steps[w.step]};
      const std::int64_t lead = w.step == s.chain_begin[w.chain] ? chain : 0;
      if (s.dq_mode == DqMode::second_pass) {
        w.time += lead + compute * (c.second_pass ? 3 : 4) / 5;
      } else if (s.dq_mode == DqMode::arrival) {
        w.time += lead + compute + reduce;
      } else {
        const auto order = s.reduce_order(std::size_t{row.first} * plan.tiles.q_tiles() + row.second);
        const std::size_t rank = added[row];
        if (rank == order.size() || order[rank] != c.tile) continue;
        std::int64_t start = w.time + lead + compute;
        if (rank > 0)
          start = std::max(start, last_add[row].first + (last_add[row].second != slot ? link : 0));
        w.time = start + reduce;
        last_add[row] = {w.time, slot};
        ++added[row];
      }
      ++w.step;
      moved = true;
    }
    if (moved) continue;
    // Nothing runs: the free slot with the earliest time takes the next CTA.
    std::size_t best = slots;
    for (std::size_t slot = 0; slot < slots; ++slot) {
      if (!workers[slot].active && (best == slots || workers[slot].time < workers[best].time)) best = slot;
    }
    if (launched == ctas || best == slots) break;
    Worker& w = workers[best];
    w.active = true;
    w.chain = dynamic ? launched : s.sm_begin[launched];
    w.chain_end = dynamic ? launched + 1 : s.sm_begin[launched + 1];
    if (w.chain < w.chain_end) w.step = s.chain_begin[w.chain];
    ++launched;
  }
  std::int64_t makespan = 0;
  for (const Worker& w : workers) {
    if (w.active) return std::nullopt;
    makespan = std::max(makespan, w.time);
  }
  return makespan;
}

struct Draw {
  std::mt19937_64 random;
  std::int64_t operator()(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution(low, high)(random);
  }
};

Mask random_mask(Draw& draw, std::int64_t& q, std::int64_t& k) {
  switch (draw(0, 4)) {
    case 0:
      return FullMask{};
    case 1:
      return CausalMask{};
    case 2:
      return WindowMask{draw(-1, 6), draw(-1, 6)};
    case 3: {
      DocumentsMask mask;
      q = 0;
      for (std::int64_t i = draw(1, 4); i > 0; --i) {
        mask.documents.push_back({draw(0, 4), draw(0, 1) == 1});
        q += mask.documents.back().length;
      }
      k = q;
      return mask;
    }
    default: {
      BlocksMask mask;
      mask.file = "random";
      mask.q_tiles = static_cast<std::uint32_t>(q);
      mask.kv_tiles = static_cast<std::uint32_t>(k);
      for (std::int64_t i = 0; i < q * k; ++i) mask.visible.push_back(draw(0, 2) > 0);
      return mask;
    }
  }
}

std::optional<Plan> random_plan(Draw& draw) {
  std::int64_t q = draw(0, 9);
  std::int64_t k = draw(0, 9);
  Mask mask = random_mask(draw, q, k);
  const std::int64_t group = draw(1, 3);
  const std::int64_t kv_heads = draw(1, 2);
  Problem p = tile_problem(q, k, group * kv_heads, std::move(mask));
  p.kv_heads = kv_heads;
  p.batch = draw(1, 2);
  const auto names = schedule_names();
  const auto name = names[static_cast<std::size_t>(draw(0, std::ssize(names) - 1))];
  const auto mode = draw(0, 1) == 0 ? GroupMode::per_head : GroupMode::gathered;
  try {
    return Plan(p, std::string(name), static_cast<std::uint32_t>(draw(1, 12)), mode);
  } catch (const BadInput&) {
    return std::nullopt;
  }
}

// Breaks orders at random, so that some schedules deadlock.
void scramble(Draw& draw, Schedule& s) {
  for (std::size_t row = 0; row + 1 < s.row_begin.size(); ++row) {
    if (draw(0, 3) == 0) {
      std::shuffle(s.reduce_kv.begin() + static_cast<std::ptrdiff_t>(s.row_begin[row]),
                   s.reduce_kv.begin() + static_cast<std::ptrdiff_t>(s.row_begin[row + 1]), draw.random);
    }
  }
}

}  // namespace

TEST_CASE("Simulator, verifier and bounds agree with a naive simulator on thousands of random schedules") {
  int plans = 0;
  int deadlocks = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Draw draw{std::mt19937_64(seed)};
    std::optional<Plan> plan = random_plan(draw);
    if (!plan) continue;
    if (plan->schedule.dq_mode == DqMode::ordered && draw(0, 2) == 0) scramble(draw, plan->schedule);
    CAPTURE(seed);
    CAPTURE(plan->schedule.name);
    CAPTURE(to_string(plan->problem.mask));
    ++plans;
    Costs c;
    const std::int64_t reduce = draw(0, 4);
    const std::int64_t link = draw(0, 3);
    const std::int64_t chain = draw(0, 2) * 4;
    c.compute = 5;
    c.reduce = Rational(reduce);
    c.link = Rational(link);
    c.chain = Rational(chain);
    const std::size_t sms = plan->schedule.sms;
    const auto expected = naive_makespan(*plan, 5, reduce, link, chain, sms);
    const Verification v = plan->verification();
    REQUIRE(v.deadlock_free == expected.has_value());
    if (!expected) {
      ++deadlocks;
      CHECK_THROWS_AS((void)plan->simulation(c), BadInput);
      REQUIRE_FALSE(v.errors.empty());
      CHECK(v.errors.front().cycle.size() >= 2);
      continue;
    }
    CAPTURE(v.errors.empty() ? "" : v.errors.front().message);
    REQUIRE(v.valid);
    Timeline timeline;
    const Simulation sim = plan->simulation(c, &timeline);
    REQUIRE(sim.makespan_units() == Rational(*expected));

    // Fewer resident CTAs: the verifier's verdict is whether the naive run ends.
    const auto resident = static_cast<std::size_t>(draw(1, static_cast<std::int64_t>(sms)));
    CHECK(plan->verification(resident).deadlock_free ==
          naive_makespan(*plan, 5, reduce, link, chain, resident).has_value());

    // Time adds up on every SM, and no SM does two things at once.
    for (const SmUse& use : sim.sms) {
      CHECK(use.busy + use.reduce_wait + use.startup + use.tail == sim.makespan);
      CHECK(use.tail >= 0);
    }
    for (std::size_t i = 1; i < timeline.tasks.size(); ++i) {
      const TaskSpan& a = timeline.tasks[i - 1];
      const TaskSpan& b = timeline.tasks[i];
      if (a.sm == b.sm) CHECK(b.compute_start >= std::max(a.compute_end, a.reduce_end));
    }
    CHECK(timeline.tasks.size() == plan->schedule.steps.size());

    // Ranks are 0..k-1, each once, and adds of a row follow each other (the semaphore's view).
    if (plan->schedule.dq_mode == DqMode::ordered) {
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::uint32_t, const TaskSpan*>> rows;
      for (const TaskSpan& t : timeline.tasks) {
        CHECK(rows[{index(t.head), index(t.q)}].emplace(t.rank, &t).second);
      }
      for (const auto& [row, adds] : rows) {
        std::uint32_t rank = 0;
        const TaskSpan* before = nullptr;
        for (const auto& [number, task] : adds) {
          CHECK(number == rank++);
          if (before) CHECK(task->reduce_start >= before->reduce_end);
          before = task;
        }
      }
    }

    // No schedule beats its lower bound; the critical path leads from the start to the end without a gap in
    // cause.
    const LowerBounds bounds = lower_bounds(plan->problem, plan->tiles, plan->schedule.sms, c,
                                            {plan->schedule.group_mode, plan->schedule.dq_mode});
    CHECK(sim.makespan_units() >= bounds.best());
    if (!timeline.tasks.empty()) {
      REQUIRE_FALSE(timeline.critical_path.empty());
      const CriticalStep& last = timeline.critical_path.back();
      const TaskSpan& t = timeline.tasks[last.task];
      CHECK(std::max(t.reduce_end, t.compute_end) <= sim.makespan);
      if (plan->schedule.group_order.empty()) {
        CHECK(std::max(t.reduce_end, t.compute_end) == sim.makespan);
        CHECK(timeline.tasks[timeline.critical_path.front().task].compute_start == 0);
      }
    }

    // Lemma 1: added edges that never point backwards cost nothing.
    Costs no_link = c;
    no_link.link = 0;
    if (plan->schedule.group_order.empty() &&
        alignment(plan->problem, plan->tiles, plan->schedule, c).lemma1) {
      CHECK(plan->simulation(no_link).reduce_wait == 0);
    }
  }
  CHECK(plans > 2500);
  CHECK(deadlocks > 100);
}

TEST_CASE(
    "An overlapped model of depth 0 is the serial one, and depth never makes a static schedule slower") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Draw draw{std::mt19937_64(seed)};
    const auto plan = random_plan(draw);
    if (!plan || !plan->verification().valid) continue;
    CAPTURE(seed);
    Costs c = costs(1, {draw(0, 4), 4});
    Rational before = plan->makespan(c);
    for (int depth = 1; depth <= 3; ++depth) {
      c.overlap_depth = depth;
      const Rational now = plan->makespan(c);
      if (plan->schedule.placement == Placement::static_lists) CHECK(now <= before);
      CHECK(now >= lower_bounds(plan->problem, plan->tiles, plan->schedule.sms, c,
                                {plan->schedule.group_mode, plan->schedule.dq_mode})
                       .best());
      before = now;
    }
  }
}

TEST_CASE(
    "Resident CTAs: the time-ordered simulator agrees with the other one where both apply, and shares "
    "fairly") {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Draw draw{std::mt19937_64(seed)};
    std::optional<Plan> plan = random_plan(draw);
    if (!plan || plan->schedule.placement != Placement::dynamic) continue;
    if (plan->schedule.dq_mode == DqMode::ordered && draw(0, 3) == 0) scramble(draw, plan->schedule);
    CAPTURE(seed);
    Costs c;
    c.compute = 5;
    c.reduce = Rational(draw(0, 4));
    c.link = Rational(draw(0, 2));
    // More slots than chains on one SM each: R resident on S SMs is S*R SMs when nobody competes.
    const std::uint32_t resident = static_cast<std::uint32_t>(draw(2, 4));
    const bool ends = plan->verification(std::uint64_t{plan->schedule.sms} * resident).deadlock_free;
    const auto run = [&] {
      Timeline timeline;
      const Simulation sim = simulate(plan->problem, plan->tiles, plan->schedule, c, &timeline, resident);
      return std::pair(sim, timeline);
    };
    if (!ends) {
      CHECK_THROWS_AS(run(), BadInput);
      continue;
    }
    const auto [sim, timeline] = run();
    ++compared;
    std::int64_t compute = 0;
    for (std::size_t i = 0; i < timeline.tasks.size(); ++i) {
      const TaskSpan& t = timeline.tasks[i];
      compute += t.compute_end - t.compute_start;
      CHECK(t.reduce_start >= t.compute_end);
      if (i > 0 && timeline.tasks[i - 1].sm == t.sm)
        CHECK(t.compute_start >= timeline.tasks[i - 1].compute_end);
    }
    CHECK(sim.work == compute);
    CHECK(timeline.tasks.size() == plan->schedule.steps.size());
    Schedule alone = plan->schedule;
    alone.sms *= resident;
    CHECK(sim.makespan_units() >=
          lower_bounds(plan->problem, plan->tiles, alone.sms, c, {alone.group_mode, alone.dq_mode})
              .longest_chain);
    if (plan->schedule.chains.size() <= plan->schedule.sms) {
      CHECK(sim.makespan_units() == plan->makespan(c));  // every CTA has an SM to itself
    }
  }
  CHECK(compared > 500);
}

TEST_CASE("Two resident CTAs hide each other's adds: two chains of two tasks on one SM") {
  // c = 1, r = 1, full 2 x 2, one SM: A computes 0-1, B 1-2 while A adds, and so on; alone they would take 8.
  const Plan plan(tile_problem(2, 2, 1, FullMask{}), "ascending", 1);
  CHECK(plan.makespan(costs(1, 1)) == Rational(8));
  CHECK(simulate(plan.problem, plan.tiles, plan.schedule, costs(1, 1), nullptr, 2).makespan_units() ==
        Rational(5));
  const Plan shift(tile_problem(2, 2, 1, FullMask{}), "shift", 2);
  CHECK_THROWS_AS(simulate(shift.problem, shift.tiles, shift.schedule, Costs{}, nullptr, 2), BadInput);
}

TEST_CASE("Jitter is fixed by its seed, and sigma 0 changes nothing") {
  const Plan plan(tile_problem(6, 6, 2, CausalMask{}), "descending", 6);
  Costs c = costs(1, {1, 4});
  const Rational exact = plan.makespan(c);
  c.jitter = Jitter{0, 3};
  CHECK(plan.makespan(c) == exact);
  c.jitter = Jitter{0.2, 3};
  CHECK(plan.makespan(c) == plan.makespan(c));
  const Rational first = plan.makespan(c);
  c.jitter->seed = 4;
  CHECK(plan.makespan(c) != first);
}
