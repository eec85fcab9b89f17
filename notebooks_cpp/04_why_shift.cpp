// Notebook 4: lower bounds, Lemma 1 and exhaustive search: why shift is optimal, and where it stops being so.
// %% [markdown]
// # 4. Why shift is optimal
//
// Notebook 3 measured schedules against formulas. Here they are measured against *everything*: against bounds
// that no schedule can beat, and, where the problem is tiny, against all schedules there are.
// %%
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dashlab/core/bounds.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/core/schedule.hpp"
#include "dashlab/core/simulate.hpp"
#include "dashlab/core/verify.hpp"
#include "dashlab/viz/timeline_picture.hpp"
#include "notebook.hpp"

using namespace dashlab;
using notebook::Table;

// %% [markdown]
// ## Every schedule of a tiny problem
//
// The search below decides, step by step, what a schedule decides: which chain an SM takes, which row the
// chain visits next, and (by the order of the steps) which kv tile adds to a row before which. Times are
// whole ticks, with *c* = 4 and *r* = 1. It asks only one question: *is there a schedule that ends by
// `limit`?* That makes it easy to cut: a state in which some chain cannot end in time is dropped, and so is a
// state that was seen before.
// %%
const int compute_ticks = 4;
const int reduce_ticks = 1;

struct Search {
  struct Sm {
    int time = 0;
    std::uint32_t kv = 0;
    std::uint32_t rows = 0;  // q tiles that the chain has still to visit, one bit each
    bool operator<(const Sm& o) const { return std::tie(time, kv, rows) < std::tie(o.time, o.kv, o.rows); }
  };
  struct State {
    std::vector<Sm> sms;
    std::set<std::uint32_t> waiting;  // kv tiles that no SM has taken
    std::vector<int> row_free;        // when the last add to a row ended
    bool operator<(const State& o) const {
      return std::tie(sms, waiting, row_free) < std::tie(o.sms, o.waiting, o.row_free);
    }
  };
  struct Move {
    std::size_t sm;
    std::uint32_t kv, q;
  };

  const TileMap& tiles;
  int limit = 0;
  std::set<State> seen = {};
  std::vector<Move> moves = {};

  std::uint32_t rows_of(std::uint32_t kv) const {
    std::uint32_t rows = 0;
    for (const std::uint32_t q : tiles.column(KvTile{kv})) rows |= 1U << q;
    return rows;
  }

  bool too_late(const State& state) const {
    const int task = compute_ticks + reduce_ticks;
    int room = 0;
    for (const Sm& sm : state.sms) {
      const int left = limit - sm.time - task * __builtin_popcount(sm.rows);
      if (left < 0) return true;
      room += left;
    }
    for (const std::uint32_t kv : state.waiting) room -= task * __builtin_popcount(rows_of(kv));
    return room < 0;
  }

  // Is there a way from this state to the end?
  bool from(const State& state) {
    if (too_late(state)) return false;
    State sorted = state;  // SMs are alike
    std::sort(sorted.sms.begin(), sorted.sms.end());
    if (!seen.insert(sorted).second) return false;
    bool done = state.waiting.empty();
    for (const Sm& sm : state.sms) done = done && sm.rows == 0;
    if (done) return true;
    for (std::size_t i = 0; i < state.sms.size(); ++i) {
      if (state.sms[i].rows != 0) {
        if (advance(state, i)) return true;
        continue;
      }
      for (const std::uint32_t kv : state.waiting) {
        State next = state;
        next.sms[i].kv = kv;
        next.sms[i].rows = rows_of(kv);
        next.waiting.erase(kv);
        if (advance(next, i)) return true;
      }
    }
    return false;
  }

  // Tries every row as the next task of SM i.
  bool advance(const State& state, std::size_t i) {
    for (std::uint32_t q = 0; q < tiles.q_tiles(); ++q) {
      if ((state.sms[i].rows >> q & 1U) == 0) continue;
      State next = state;
      const int reduce_start = std::max(state.sms[i].time + compute_ticks, state.row_free[q]);
      next.sms[i].time = next.row_free[q] = reduce_start + reduce_ticks;
      next.sms[i].rows &= ~(1U << q);
      moves.push_back({i, state.sms[i].kv, q});
      if (from(next)) return true;
      moves.pop_back();
    }
    return false;
  }

  bool ends_by(int ticks, std::uint32_t sms) {
    limit = ticks;
    seen.clear();
    moves.clear();
    State start;
    start.sms.resize(sms);
    start.row_free.resize(tiles.q_tiles());
    for (std::uint32_t kv = 0; kv < tiles.kv_tiles(); ++kv) {
      if (rows_of(kv) != 0) start.waiting.insert(kv);
    }
    return from(start);
  }
};

// %% [markdown]
// The moves of a search that succeeded *are* a schedule. Written as one, the library's verifier and simulator
// can judge it: the search need not be trusted.
// %%
Schedule schedule_of(const Search& search, std::uint32_t sms) {
  Schedule s;
  s.name = "found by search";
  s.placement = Placement::static_lists;
  s.sms = sms;
  s.sm_begin = {0};
  s.row_begin = {0};
  for (std::uint32_t sm = 0; sm < sms; ++sm) {
    for (const Search::Move& move : search.moves) {
      if (move.sm != sm) continue;
      if (s.chains.size() == s.sm_begin.back() || s.chains.back().tile != move.kv) {
        s.chains.push_back({0, move.kv, false});
        s.chain_begin.push_back(s.steps.size());
      }
      s.steps.push_back(move.q);
      s.chain_begin.back() = s.steps.size();
    }
    s.sm_begin.push_back(s.chains.size());
  }
  for (std::uint32_t q = 0; q < search.tiles.q_tiles(); ++q) {
    for (const Search::Move& move : search.moves) {
      if (move.q == q) s.reduce_kv.push_back(move.kv);
    }
    s.row_begin.push_back(s.reduce_kv.size());
  }
  return s;
}

struct Optimum {
  Rational makespan;
  Schedule schedule;
  std::size_t states = 0;  // that the last, unsuccessful or successful, searches visited
};

// The shortest schedule: tries limits upward from the best lower bound.
Optimum optimum_of(const Problem& problem, std::uint32_t sms, const Costs& costs) {
  const TileMap tiles(problem);
  const Rational bound = lower_bounds(problem, tiles, sms, costs).best() * compute_ticks;
  Optimum best;
  Search search{tiles};
  for (int ticks = static_cast<int>((bound.num() + bound.den() - 1) / bound.den());; ++ticks) {
    const bool found = search.ends_by(ticks, sms);
    best.states += search.seen.size();
    if (!found) continue;
    best.schedule = schedule_of(search, sms);
    best.makespan = Rational(ticks, compute_ticks);
    notebook::require(verify(problem, tiles, best.schedule).valid, "what was found is a schedule");
    notebook::require(simulate(problem, tiles, best.schedule, costs).makespan_units() == best.makespan,
                      "and takes as long as the search says");
    return best;
  }
}

// The makespan of a named schedule; nothing if it has no meaning for the problem.
std::string length_of(const std::string& name, const Problem& problem, std::uint32_t sms,
                      const Costs& costs) {
  try {
    const TileMap tiles(problem);
    const Schedule schedule = make_schedule(name, problem, tiles, {.sms = sms});
    return to_string(simulate(problem, tiles, schedule, costs).makespan_units());
  } catch (const BadInput&) {
    return "-";
  }
}

// %%
int main() {  // hidden
  // %% [markdown]
  // ## Four bounds
  //
  // Let a task take *x* = *c* + *r*. Whatever the schedule:
  //
  // - *work*: all tasks, shared by all SMs;
  // - *longest chain*: a chain runs on one SM;
  // - *longest row*: one compute phase, then all adds of the row, one after another;
  // - *packing*: chains are not split, so SMs are bins and chains are items.
  // %%
  const Costs costs;  // c = 1, r = 1/4
  const auto bounds_row = [&](Table& table, const std::string& name, const Problem& problem,
                              std::uint32_t sms) {
    const LowerBounds b = lower_bounds(problem, TileMap(problem), sms, costs);
    table.add(name, sms, to_string(b.work), to_string(b.longest_chain), to_string(b.longest_row),
              to_string(b.packing), to_string(b.best()));
    return b;
  };
  Table bounds({"problem", "SMs", "work", "longest chain", "longest row", "packing", "best"});
  const LowerBounds square = bounds_row(bounds, "full 4 x 4", tile_problem(4, 4, 1, FullMask{}), 4);
  bounds_row(bounds, "full 4 x 4", tile_problem(4, 4, 1, FullMask{}), 3);
  bounds_row(bounds, "full, 1 x 8", tile_problem(1, 8, 1, FullMask{}), 8);
  bounds_row(bounds, "causal 4 x 4", tile_problem(4, 4, 1, CausalMask{}), 4);
  const LowerBounds pairs = bounds_row(bounds, "causal 4 x 4", tile_problem(4, 4, 1, CausalMask{}), 2);
  bounds_row(bounds, "causal 5 x 5", tile_problem(5, 5, 1, CausalMask{}), 2);
  bounds.print();
  notebook::require(square.best() == 5 && pairs.best() == Rational(25, 4), "bounds as in the table");

  // %% [markdown]
  // For a full mask on S = n SMs *work*, *longest chain* and *packing* all say *n x* for one head, and
  // `shift` takes *n x* (notebook 3). A schedule that meets a lower bound is optimal, and that is the whole
  // proof. What remains is to see *why* `shift` meets it.
  //
  // ## Lemma 1
  //
  // Let every chain run without ever waiting. Give each task as its *depth* the time at which it adds. The
  // reduce orders are additional edges in the graph, and they cost nothing if each of them goes from a task
  // to one that is at least as deep: the successor would not have begun earlier anyway.
  //
  // The claim can be tested on every schedule of a full 3 x 3 pass on 3 SMs, one chain each: 6 row orders per
  // chain, 6 kv orders per row, 6⁶ schedules in all.
  // %%
  const Problem three = tile_problem(3, 3, 1, FullMask{});
  const TileMap three_tiles(three);
  const std::array<std::array<std::uint32_t, 3>, 6> orders{
      {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};
  Schedule one_of_all = make_schedule("shift", three, three_tiles, {.sms = 3});
  std::int64_t deadlocks = 0;
  std::int64_t with_lemma = 0;
  std::int64_t exceptions = 0;
  std::map<Rational, std::int64_t> lengths;
  const int schedules = 6 * 6 * 6 * 6 * 6 * 6;
  for (int number = 0; number < schedules; ++number) {
    int digits = number;
    for (std::size_t i = 0; i < 6; ++i) {
      const auto& order = orders[static_cast<std::size_t>(digits % 6)];
      digits /= 6;
      auto& target = i < 3 ? one_of_all.steps : one_of_all.reduce_kv;
      std::copy(order.begin(), order.end(), target.begin() + static_cast<std::ptrdiff_t>(i % 3 * 3));
    }
    const Alignment aligned = alignment(three, three_tiles, one_of_all, costs);
    with_lemma += aligned.lemma1 ? 1 : 0;
    try {
      const Simulation run = simulate(three, three_tiles, one_of_all, costs);
      ++lengths[run.makespan_units()];
      if (aligned.lemma1 != (run.reduce_wait == 0)) ++exceptions;
    } catch (const BadInput&) {  // a deadlock
      ++deadlocks;
      if (aligned.lemma1) ++exceptions;
    }
  }
  std::cout << schedules << " schedules: " << deadlocks << " deadlock, " << with_lemma << " keep Lemma 1\n";
  for (const auto& [length, count] : lengths)
    std::cout << "  " << count << " take " << to_string(length) << '\n';
  std::cout << exceptions << " exceptions to: Lemma 1 holds exactly where nobody waits\n";
  notebook::require(exceptions == 0, "Lemma 1 holds exactly where nobody waits");
  notebook::require(lengths.begin()->first == Rational(15, 4) && lengths.begin()->second == with_lemma,
                    "the shortest take n x, and they are those that keep the lemma");

  // %% [markdown]
  // The shortest schedules take 3 *x* = 3.75, and they are exactly those that keep the lemma. What do they
  // look like? In no step may two chains be in one row: the orders of the three chains form a *Latin square*.
  // Once they do, the reduce orders follow, so there should be as many optimal schedules as such squares.
  // `shift` is the cyclic one, the one that a formula can write down for every *n*.
  // %%
  int latin_squares = 0;
  for (const auto& a : orders) {
    for (const auto& b : orders) {
      for (const auto& c : orders) {
        bool latin = true;
        for (std::size_t i = 0; i < 3; ++i) latin = latin && a[i] != b[i] && b[i] != c[i] && a[i] != c[i];
        latin_squares += latin ? 1 : 0;
      }
    }
  }
  std::cout << "optimal schedules: " << with_lemma << ", Latin squares of size 3: " << latin_squares << '\n';
  notebook::require(with_lemma == latin_squares, "as many as Latin squares of size 3");

  // %% [markdown]
  // Being in different rows at the same time is not enough. Take `shift` and turn the reduce order of its
  // last row around: still no two SMs ever want one row at once (*conflict-free*), yet adds come in the wrong
  // order, and SMs wait. Turn all rows around, and everyone waits for everyone: a deadlock.
  // %%
  const Schedule shift = make_schedule("shift", three, three_tiles, {.sms = 3});
  const auto turned = [&](std::size_t first_row) {
    Schedule schedule = shift;
    for (std::size_t row = first_row; row < 3; ++row) {
      const auto begin = schedule.reduce_kv.begin() + static_cast<std::ptrdiff_t>(3 * row);
      std::reverse(begin, begin + 3);
    }
    return schedule;
  };
  Table variants({"reduce orders", "conflict-free", "Lemma 1", "takes"});
  const auto judge = [&](const std::string& name, const Schedule& schedule) {
    const Alignment aligned = alignment(three, three_tiles, schedule, costs);
    const bool sound = verify(three, three_tiles, schedule).deadlock_free;
    std::string takes =
        sound ? to_string(simulate(three, three_tiles, schedule, costs).makespan_units()) : "for ever";
    variants.add(name, aligned.conflict_free ? "yes" : "no", aligned.lemma1 ? "yes" : "no", takes);
    notebook::require(aligned.conflict_free, "the row orders alone decide who meets whom");
    return takes;
  };
  const std::string as_is = judge("as in shift", shift);
  const std::string one_row = judge("last row turned around", turned(2));
  const std::string all_rows = judge("all rows turned around", turned(0));
  variants.print();
  notebook::require(as_is == "3.75" && one_row != as_is && all_rows == "for ever", "the order decides");

  // %% [markdown]
  // ## Exhaustive search
  //
  // Now let the search also choose the placement. For each problem: the best bound, the optimum, and what the
  // named schedules take.
  // %%
  const std::vector<std::string> names{"ascending", "descending", "spt", "shift", "symmetric-shift"};
  struct Row {
    Rational bound, optimum;
    std::vector<std::string> lengths;
  };
  Table searched(
      {"problem", "SMs", "states", "bound", "optimum", "ascend.", "descend.", "spt", "shift", "symm."});
  const auto solve = [&](const std::string& mask, std::int64_t q, std::int64_t kv, std::uint32_t sms) {
    const Problem problem = tile_problem(q, kv, 1, parse_mask(mask));
    const Optimum best = optimum_of(problem, sms, costs);
    Row row{lower_bounds(problem, TileMap(problem), sms, costs).best(), best.makespan, {}};
    for (const std::string& name : names) row.lengths.push_back(length_of(name, problem, sms, costs));
    searched.add(mask + " " + std::to_string(q) + " x " + std::to_string(kv), sms, best.states,
                 to_string(row.bound), to_string(row.optimum), row.lengths[0], row.lengths[1], row.lengths[2],
                 row.lengths[3], row.lengths[4]);
    return row;
  };
  const std::vector<Row> squares{solve("full", 2, 2, 2), solve("full", 3, 3, 3), solve("full", 4, 4, 4),
                                 solve("full", 3, 3, 2)};
  const std::vector<Row> wide{solve("full", 2, 3, 3), solve("full", 2, 4, 4)};
  const std::vector<Row> others{solve("causal", 4, 4, 4), solve("causal", 4, 4, 2),
                                solve("causal", 4, 4, 3), solve("causal", 5, 5, 2),
                                solve("causal", 5, 5, 3), solve("window:1,0", 4, 4, 4)};
  searched.print();
  for (const Row& row : squares) {
    notebook::require(row.optimum == row.bound && row.lengths[3] == to_string(row.optimum),
                      "full masks, n_q = n_kv: shift is optimal");
  }
  for (const Row& row : others) notebook::require(row.optimum == row.bound, "the optimum is the bound");

  // %% [markdown]
  // ## Where shift stops
  //
  // **Fewer rows than chains.** With 2 rows and 3 chains in flight two chains must share a row, and the bound
  // cannot be reached: the optimum is max(n_q x + (⌈n_kv / n_q⌉ - 1) r, c + n_kv r), above all four bounds.
  // `shift` still reaches the optimum; it is the bounds that are too low.
  // %%
  for (const int n_kv : {3, 4}) {
    const Row& row = wide[n_kv == 3 ? 0 : 1];
    const Rational c = costs.compute, r = costs.reduce;
    const Rational formula =
        std::max(Rational(2) * (c + r) + Rational((n_kv + 1) / 2 - 1) * r, c + Rational(n_kv) * r);
    std::cout << "2 rows, " << n_kv << " chains: bound " << to_string(row.bound) << ", optimum "
              << to_string(row.optimum) << ", formula " << to_string(formula) << ", shift " << row.lengths[3]
              << '\n';
    notebook::require(formula > row.bound && row.optimum == formula && row.lengths[3] == to_string(formula),
                      "above all four bounds, and shift is there");
  }

  // %% [markdown]
  // **Other masks.** In a causal mask chains see different rows: there is no cyclic shift of unequal chains,
  // and the library refuses to make one. Its place is taken by `symmetric-shift`, where pairs fill the SMs,
  // and by `descending` or `spt` where they do not. Windows: `descending` and `spt`.
  // %%
  try {
    const Problem triangle = tile_problem(4, 4, 1, CausalMask{});
    make_schedule("shift", triangle, TileMap(triangle), {.sms = 4});
    notebook::require(false, "shift is refused for a causal mask");
  } catch (const BadInput& error) {
    std::cout << error.what() << '\n';
  }

  // %% [markdown]
  // **No named schedule is always there.** For these masks every optimum in the table is reached by some
  // name, but no name reaches them all: `descending` is there for 4 x 4 on 3 SMs, `symmetric-shift` for 5 x 5
  // on 3. Are there problems with all of them above the bound? Let the machine look: causal masks, one and
  // two heads, any number of SMs.
  // %%
  for (std::size_t name = 0; name < names.size(); ++name) {
    std::size_t there = 0;
    for (const Row& row : others) there += row.lengths[name] == to_string(row.optimum) ? 1 : 0;
    notebook::require(there < others.size(), names[name] + " is not always there");
  }
  for (const Row& row : others) {
    notebook::require(std::count(row.lengths.begin(), row.lengths.end(), to_string(row.optimum)) > 0,
                      "some name is there");
  }
  using Named = std::pair<Rational, std::string>;  // how long, and who
  const auto best_name = [&](const Problem& problem, std::uint32_t sms) {
    const TileMap tiles(problem);
    std::set<Named> all;
    for (const char* name : {"ascending", "descending", "spt", "symmetric-shift"}) {
      const Schedule schedule = make_schedule(name, problem, tiles, {.sms = sms});
      all.emplace(simulate(problem, tiles, schedule, costs).makespan_units(), name);
    }
    return *all.begin();
  };
  Table missed({"causal", "heads", "SMs", "bound", "best name", "takes", "above the bound"});
  std::array<int, 3> gaps{};  // by heads
  for (std::size_t heads = 1; heads <= 2; ++heads) {
    for (std::int64_t n = 3; n <= 8; ++n) {
      for (std::uint32_t sms = 2; sms <= n; ++sms) {
        const Problem problem = tile_problem(n, n, static_cast<std::int64_t>(heads), CausalMask{});
        const Rational bound = lower_bounds(problem, TileMap(problem), sms, costs).best();
        const auto [length, name] = best_name(problem, sms);
        if (length == bound) continue;
        ++gaps[heads];
        missed.add(std::to_string(n) + " x " + std::to_string(n), heads, sms, to_string(bound), name,
                   to_string(length), notebook::fixed(100 * (length.value() / bound.value() - 1), 1) + " %");
      }
    }
  }
  missed.print();
  notebook::require(gaps[1] == 1 && gaps[2] > 5, "there is room for a better algorithm");

  // %% [markdown]
  // That is where search takes over from formulas. The search of this notebook knows one head only, so it can
  // be asked about the first line: 8 x 8 on 3 SMs. To reach the bound there, no SM may wait even once. Is
  // there such a schedule, and no formula has found it yet, or is the bound too low?
  // %%
  const Problem gap = tile_problem(8, 8, 1, CausalMask{});
  const TileMap gap_tiles(gap);
  const Named best = best_name(gap, 3);
  const Optimum found = optimum_of(gap, 3, costs);
  Timeline named_run;
  Timeline found_run;
  simulate(gap, gap_tiles, make_schedule(best.second, gap, gap_tiles, {.sms = 3}), costs, &named_run);
  simulate(gap, gap_tiles, found.schedule, costs, &found_run);
  const std::vector<viz::ComparePanel> panels{{&named_run, best.second}, {&found_run, "found by search"}};
  notebook::show_svg(viz::draw_compare(panels, "causal, 8 x 8 tiles, 3 SMs", {.width = notebook::page_width})
                         .bytes(viz::PictureFormat::svg));
  std::cout << best.second << ' ' << to_string(best.first) << ", found " << to_string(found.makespan)
            << " after " << found.states << " states\n";
  notebook::require(
      found.makespan == lower_bounds(gap, gap_tiles, 3, costs).best() && found.makespan < best.first,
      "the bound can be reached, and no name reaches it");

  // %% [markdown]
  // There is one. The bound is right, and the formulas are not the last word. Notebook 8 tries another rule.
  //
  // **Slow links.** All of this lets a row pass from SM to SM in no time. Let a hand-over take ℓ, and let
  // reducing run beside computing, as it does in kernels (*overlapped* model: then *n* tasks take *n c* + *r*
  // at best). `shift` hands a row on from step to step: the next add of the row begins *c* after this one
  // began, and this one takes *r*. So there is room for ℓ <= *c* - *r*, and not for more.
  // %%
  Table links({"link", "shift takes", "stall-free"});
  const Problem eight = tile_problem(8, 8, 1, FullMask{});
  const TileMap eight_tiles(eight);
  const Schedule shift_8 = make_schedule("shift", eight, eight_tiles, {.sms = 8});
  for (const auto& link : {Rational(0), Rational(1, 2), Rational(3, 4), Rational(7, 8), Rational(1)}) {
    Costs slow;
    slow.overlap_depth = 1;
    slow.link = link;
    const Rational takes = simulate(eight, eight_tiles, shift_8, slow).makespan_units();
    const bool stall_free = takes == Rational(8) * slow.compute + slow.reduce;
    links.add(to_string(link), to_string(takes), stall_free ? "yes" : "no");
    notebook::require(stall_free == (link <= slow.compute - slow.reduce), "stall-free up to c - r");
  }
  links.print();

  // %% [markdown]
  // ## Exercises
  //
  // Solutions are tests: `tests/notebooks/test_exercises_4.cpp`.
  //
  // 1. How many of the (4!)⁴ row orders of a full 4 x 4 pass on 4 SMs form a Latin square?
  // 2. Prove: on S = n SMs no schedule of one causal head is shorter than *n x*. Which bound is it?
  // 3. Spread the offsets: chain *i* of *n* starts at row 2*i* of 2*n*. How slow may the link be then?
}  // hidden
