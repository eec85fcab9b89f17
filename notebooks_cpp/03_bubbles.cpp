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
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dashlab/core/bounds.hpp"
#include "dashlab/core/schedule.hpp"
#include "dashlab/core/simulate.hpp"
#include "dashlab/viz/timeline_picture.hpp"
#include "notebook.hpp"

using namespace dashlab;
using notebook::fixed;
using notebook::Table;

// %% [markdown]
// ## One function, any schedule
//
// `run` builds a schedule by name for *n* x *n* tiles and *m* heads on *n* SMs and simulates it. The costs
// are *c* = 1 and *r* = 1/4, so a task lasts *x* = *c* + *r* = 5/4. Times are exact fractions: they can be
// compared with `==`.
// %%
struct Run {
  std::string name;
  Timeline timeline;
  Simulation simulation;
  std::optional<ClosedForm> form;
};

Run run(const std::string& name, std::int64_t n, std::int64_t m, const Mask& mask, const Costs& costs = {}) {
  const Problem problem = tile_problem(n, n, m, mask);
  const TileMap tiles(problem);
  const auto sms = static_cast<std::uint32_t>(n);
  const Schedule schedule = make_schedule(name, problem, tiles, {.sms = sms});
  Run result{name, {}, {}, closed_form(name, problem, sms, costs)};
  result.simulation = simulate(problem, tiles, schedule, costs, &result.timeline);
  result.timeline.title = name;
  return result;
}

// Several runs under each other on one time axis.
void draw(const std::vector<Run>& runs, const std::string& title) {
  std::vector<viz::ComparePanel> panels;
  for (const Run& one : runs) panels.push_back({&one.timeline, {}});
  notebook::show_svg(
      viz::draw_compare(panels, title, {.width = notebook::page_width}).bytes(viz::PictureFormat::svg));
}

// What was simulated beside what algebra says; they must agree wherever a closed form is known.
void tabulate(const std::vector<Run>& runs) {
  Table table({"schedule", "simulated", "closed form", "formula", "SM time lost"});
  for (const Run& one : runs) {
    const Rational makespan = one.simulation.makespan_units();
    table.add(one.name, to_string(makespan), one.form ? to_string(one.form->makespan) : "",
              one.form ? one.form->formula : "none is known",
              fixed(100 * (1 - one.simulation.utilisation()), 1) + " %");
    if (one.form) notebook::require(makespan == one.form->makespan, one.name + " takes its closed form");
  }
  table.print();
}

// %%
int main() {  // hidden
  // %% [markdown]
  // ## A full mask: everyone wants the same row first
  //
  // In `ascending` every SM starts with row 0, and they can add to it only one after another: SM *k* starts
  // its adds *k* · *r* late. `shift` lets chain *k* begin at row *k*: no two SMs ever want the same row, and
  // nobody waits. In the pictures every row is an SM, colours are heads, light is compute, dark is reduce,
  // hatched is waiting. Above its first task stands the name of a chain; where there is little room, 0·7 is
  // head 0, kv tile 7.
  // %%
  const std::vector<Run> full{run("ascending", 8, 2, FullMask{}), run("descending", 8, 2, FullMask{}),
                              run("spt", 8, 2, FullMask{}), run("shift", 8, 2, FullMask{})};
  draw(full, "full mask, 8 x 8 tiles, 2 heads");

  // %%
  tabulate(full);
  notebook::require(full[3].simulation.utilisation() == 1, "shift leaves no bubble at all");

  // %% [markdown]
  // Note the size of the loss. It is (*n* - 1) · *r* in all, once for a whole pass, because a delay at the
  // start is carried along and not paid again: heads follow each other like waves.
  //
  // ## A causal mask: chains of unequal length
  //
  // Chain 0 has *n* tasks, chain *n* - 1 has one. Time is now lost at the end as well: some SMs run out of
  // work.
  //
  // - `ascending` wastes the whole half that the mask saves: all chains meet in the last rows.
  // - `descending` visits rows from the last to the first: chains start together in the last row and end
  //   spread out.
  // - `spt` starts the shortest chains first and goes up from the diagonal; it never waits.
  // - `symmetric-shift` pairs a long chain with a short one, so that every SM has the same work.
  // %%
  std::vector<Run> causal;
  for (const char* name : {"ascending", "descending", "spt", "symmetric-shift"}) {
    causal.push_back(run(name, 8, 2, CausalMask{}));
  }
  draw(causal, "causal mask, 8 x 8 tiles, 2 heads");

  // %%
  tabulate(causal);
  notebook::require(causal[2].simulation.reduce_wait == 0, "spt never waits for a rank");
  notebook::require(causal[3].simulation.utilisation() == 1, "symmetric shift leaves no bubble");
  notebook::require(causal[0].simulation.makespan == full[0].simulation.makespan,
                    "ascending gains nothing from the causal mask");

  // %% [markdown]
  // ## The paper's table
  //
  // The DASH paper gives four lengths for *m* heads of *n* x *n* tiles on *n* SMs:
  //
  // | mask | schedule | length |
  // | --- | --- | --- |
  // | full | ascending (FlashAttention-3) | *m n x* + (*n* - 1) *r* |
  // | full | shift | *m n x* |
  // | causal | descending | *m* (*n* + 1) *x* / 2 + (*n* - 1) *r* |
  // | causal | symmetric shift | *m* (*n* + 1) *x* / 2 |
  //
  // Simulation agrees for *n* = 8 and two heads, as printed. Now other numbers of heads:
  // %%
  Table paper(
      {"heads", "ascending", "formula", "shift", "formula", "descending", "formula", "symmetric", "formula"});
  for (std::int64_t m = 1; m <= 6; ++m) {
    const std::int64_t n = 8;
    const Rational x{5, 4};
    const Rational r{1, 4};
    const Rational straight = Rational(m) * n * x;
    const Rational half = Rational(m) * (n + 1) * x / 2;
    const Rational bubble = Rational(n - 1) * r;
    const Rational ascending = run("ascending", n, m, FullMask{}).simulation.makespan_units();
    const Rational shift = run("shift", n, m, FullMask{}).simulation.makespan_units();
    const Rational descending = run("descending", n, m, CausalMask{}).simulation.makespan_units();
    const Rational symmetric = run("symmetric-shift", n, m, CausalMask{}).simulation.makespan_units();
    paper.add(m, to_string(ascending), to_string(straight + bubble), to_string(shift), to_string(straight),
              to_string(descending), to_string(half + bubble), to_string(symmetric), to_string(half));
    notebook::require(ascending == straight + bubble && shift == straight, "full masks: as published, any m");
    notebook::require((m % 2 == 0) == (symmetric == half), "symmetric shift: as published for even m only");
    notebook::require((m % 2 == 0) == (descending == half + bubble),
                      "descending: as published for even m only");
    notebook::require(symmetric == Rational((m + 1) / 2) * (n + 1) * x,
                      "symmetric shift: pairs of heads, rounded up");
    notebook::require(m % 2 == 0 || descending == (Rational(m - 1) * (n + 1) / 2 + n) * x,
                      "descending, odd m: the last head alone");
  }
  paper.print();

  // %% [markdown]
  // With an odd number of heads the last head has no partner to fill the hole that it leaves. Then
  // `descending` takes ((*m* - 1)(*n* + 1)/2 + *n*) *x*, and `symmetric-shift` ⌈*m*/2⌉ (*n* + 1) *x*.
  //
  // ## Even and odd numbers of heads
  //
  // How much of the SMs' time is lost, in percent, in a causal mask of 8 x 8 tiles:
  // %%
  const std::vector<std::string> names{"ascending", "descending", "spt", "symmetric-shift"};
  Table lost({"heads", names[0], names[1], names[2], names[3]});
  std::vector<std::vector<std::string>> least_lost;  // for 1 to 6 heads: who loses least
  for (std::int64_t m = 1; m <= 6; ++m) {
    std::vector<double> percent;
    for (const std::string& name : names) {
      percent.push_back(100 * (1 - run(name, 8, m, CausalMask{}).simulation.utilisation()));
    }
    lost.add(m, fixed(percent[0], 1), fixed(percent[1], 1), fixed(percent[2], 1), fixed(percent[3], 1));
    const double least = *std::min_element(percent.begin(), percent.end());
    least_lost.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (percent[i] == least) least_lost.back().push_back(names[i]);
    }
  }
  lost.print();
  const std::vector<std::string> just_symmetric{"symmetric-shift"};
  const std::vector<std::string> just_descending{"descending"};
  notebook::require(least_lost[0] == std::vector<std::string>{"descending", "spt"}, "one head: a draw");
  for (const std::size_t even : {1, 3, 5}) {
    notebook::require(least_lost[even] == just_symmetric, "even numbers of heads: symmetric shift");
  }
  for (const std::size_t odd : {2, 4}) {
    notebook::require(least_lost[odd] == just_descending, "three and five heads: descending");
  }

  // %% [markdown]
  // No schedule wins everywhere. One head: `descending` and `spt` are equal. Even numbers: `symmetric-shift`,
  // without any loss. Three and five: `descending`, because half of the pair that `symmetric-shift` needs is
  // missing. `spt` never waits, and still loses time: its long chains come last and leave SMs without work.
  //
  // ## How expensive is the reduce?
  //
  // Everything above used *r* = *c*/4. On hardware *r* depends on memory, links and how many are adding. How
  // much longer `ascending` takes than `shift`, for two heads with a full mask:
  // %%
  Table dearer({"r / c", "ascending", "shift", "longer by"});
  double previous = 0;
  for (const auto& [num, den] : std::vector<std::pair<int, int>>{{1, 16}, {1, 8}, {1, 4}, {1, 2}, {1, 1}}) {
    Costs costs;
    costs.reduce = Rational(num, den);
    const Rational slow = run("ascending", 8, 2, FullMask{}, costs).simulation.makespan_units();
    const Rational quick = run("shift", 8, 2, FullMask{}, costs).simulation.makespan_units();
    const double longer = 100 * (slow.value() / quick.value() - 1);
    dearer.add(to_string(costs.reduce), to_string(slow), to_string(quick), fixed(longer, 1) + " %");
    notebook::require(longer > previous, "a dearer reduce costs ascending more");
    previous = longer;
  }
  dearer.print();

  // %% [markdown]
  // ## Exercises
  //
  // Solutions are tests: `tests/notebooks/test_exercises_3.cpp`.
  //
  // 1. In the full mask with one head, how long is `ascending` when reducing costs as much as computing?
  //    Work it out, then simulate.
  // 2. One causal head on *n* SMs: which schedules reach *n* · *x*, and why can none be shorter?
  // 3. A causal window of *w* tiles (`window:w,0`): how long are `ascending` and `descending`? What did
  //    the window save?
  // 4. From how many heads on is the bubble of `descending` below one percent of the pass (*n* = 8 and
  //    *m* even)?
}  // hidden
