// Notebook 3: where schedules lose time, and which closed forms say how much.
// %% [markdown]
// # 3. Bubbles
//
// A *task* is one tile of the attention matrix: a compute phase of length *c*, then a reduce phase of length
// *r* that adds the tile's part of dQ. A *chain* is one kv tile: its tasks run back to back on one SM. A
// deterministic pass fixes the order in which the kv tiles of a row add, and a tile that comes too early
// waits. That waiting, and SMs that have nothing left to do, are the *bubbles*.
//
// This notebook puts schedules of the same work on one time axis and compares their length with what algebra
// says.
// %%
#include <iomanip>
#include <iostream>
#include <vector>

#include "dashlab/core/bounds.hpp"
#include "dashlab/core/schedule.hpp"
#include "dashlab/core/simulate.hpp"
#include "dashlab/viz/timeline_picture.hpp"
#include "notebook.hpp"

using namespace dashlab;

// %%
struct Run {
  Timeline timeline;
  Simulation simulation;
};

// %%
int main() {  // hidden
  // %% [markdown]
  // ## One function, five schedules
  //
  // `run` builds a schedule by name for *n* x *n* tiles and *m* heads on *n* SMs and simulates it. Costs
  // are *c* = 1 and *r* = 1/4, so a task lasts *x* = *c* + *r* = 5/4.
  // %%
  const Costs costs;  // c = 1, r = 1/4, link latency 0, serial model
  const auto run = [&](const char* name, std::int64_t n, std::int64_t m, const Mask& mask) {
    const Problem problem = tile_problem(n, n, m, mask);
    const TileMap tiles(problem);
    const auto sms = static_cast<std::uint32_t>(n);
    Run result;
    const Schedule schedule = make_schedule(name, problem, tiles, {.sms = sms});
    result.simulation = simulate(problem, tiles, schedule, costs, &result.timeline);
    result.timeline.title = name;
    return result;
  };

  // %% [markdown]
  // ## A full mask: everyone wants the same row first
  //
  // In `ascending` every SM starts with row 0, and they can add to it only one after another: SM *k* starts
  // its adds *k* · *r* late, and the last one ends at *m* · *n* · *x* + (*n* - 1) · *r*. `shift` lets chain
  // *k* begin at row *k*: no two SMs ever want the same row, and nobody waits.
  // %%
  const std::vector<Run> full{run("ascending", 8, 2, FullMask{}), run("shift", 8, 2, FullMask{})};
  std::vector<viz::ComparePanel> panels;
  for (const Run& one : full) panels.push_back({&one.timeline, {}});
  notebook::show_svg(
      viz::draw_compare(panels, "full mask, 8 x 8 tiles, 2 heads").bytes(viz::PictureFormat::svg));

  // %%
  const auto row = [&](const char* name, const Run& one, std::int64_t n, std::int64_t m, const Mask& mask) {
    const Problem problem = tile_problem(n, n, m, mask);
    const auto form = closed_form(name, problem, static_cast<std::uint32_t>(n), costs);
    std::cout << std::left << std::setw(18) << name << "simulated " << std::setw(8)
              << one.simulation.makespan_units().value();
    if (form) {
      std::cout << "closed form " << std::setw(8) << form->makespan.value() << form->formula << '\n';
    } else {
      std::cout << "no closed form is known\n";
    }
  };
  row("ascending", full[0], 8, 2, FullMask{});
  row("shift", full[1], 8, 2, FullMask{});

  // %% [markdown]
  // ## A causal mask: chains of unequal length
  //
  // Chain 0 has *n* tasks, chain *n* - 1 has one. Time is now lost at the end as well: some SMs run out of
  // work. `descending` visits rows from the last to the first, `spt` starts the shortest chains first, and
  // `symmetric-shift` pairs a long chain with a short one, so that every SM has the same work.
  // %%
  const std::vector<const char*> names{"ascending", "descending", "spt", "symmetric-shift"};
  std::vector<Run> causal;
  for (const char* name : names) causal.push_back(run(name, 8, 2, CausalMask{}));
  panels.clear();
  for (const Run& one : causal) panels.push_back({&one.timeline, {}});
  notebook::show_svg(
      viz::draw_compare(panels, "causal mask, 8 x 8 tiles, 2 heads").bytes(viz::PictureFormat::svg));

  // %%
  for (std::size_t i = 0; i < names.size(); ++i) row(names[i], causal[i], 8, 2, CausalMask{});

  // %% [markdown]
  // ## Even and odd numbers of heads
  //
  // `descending` fills the hole that one head leaves with the next head. With an odd number of heads the last
  // hole stays open. The table shows how much of the SMs' time is lost, in percent.
  // %%
  std::cout << "heads";
  for (const char* name : names) std::cout << std::setw(17) << std::right << name;
  std::cout << '\n';
  for (std::int64_t m = 1; m <= 6; ++m) {
    std::cout << std::setw(5) << m;
    for (const char* name : names) {
      const double lost = 100 * (1 - run(name, 8, m, CausalMask{}).simulation.utilisation());
      std::cout << std::setw(17) << std::fixed << std::setprecision(1) << lost;
    }
    std::cout << '\n';
  }

  // %% [markdown]
  // ## Exercises
  //
  // 1. In the full mask, how long is `ascending` when reducing costs as much as computing? Work it out, then
  // set
  //    `reduce` to 1 and check.
  // 2. One causal head on *n* SMs: which schedules reach *n* · *x*, and why can none be shorter?
}  // hidden
