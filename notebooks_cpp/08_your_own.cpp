// Notebook 8: a schedule of one's own, from a file and from C++, to proof, picture and bits.
// %% [markdown]
// # 8. Write your own schedule
//
// Schedules are data. This notebook writes one by hand, proves it, draws it, finds that it is shorter than
// every schedule with a name, computes its gradients, and then lets a few lines of C++ write more of its
// kind.
// %%
#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "dashlab/core/bounds.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/core/schedule.hpp"
#include "dashlab/core/schedule_file.hpp"
#include "dashlab/core/simulate.hpp"
#include "dashlab/core/verify.hpp"
#include "dashlab/emulator/inputs.hpp"
#include "dashlab/emulator/recipes.hpp"
#include "dashlab/viz/timeline_picture.hpp"
#include "notebook.hpp"

using namespace dashlab;
using notebook::Table;

// %% [markdown]
// ## By hand
//
// The problem: two heads, causal, 4 x 4 tiles, 3 SMs. Chains have 4, 3, 2 and 1 tasks. Bins of 3 SMs: the
// chains 4 + 3 of head 0 on SM 0, those of head 1 on SM 1, and the four short ones on SM 2, 6 tasks. So 7
// tasks is the least that is possible, if nobody waits.
//
// Every chain walks its rows upward. When does who reach which row, in steps of one task? Each entry is
// row:head/kv.
//
//     step     0      1      2      3      4      5      6
//     SM 0   0:0/0  1:0/0  2:0/0  3:0/0  1:0/1  2:0/1  3:0/1
//     SM 1   0:1/0  1:1/0  2:1/0  3:1/0  1:1/1  2:1/1  3:1/1
//     SM 2   2:0/2  3:0/2  3:0/3  2:1/2  3:1/2  3:1/3
//
// No row of a head appears twice in a column, so nobody has to wait if each row adds in the order in which
// its tiles come: row 3 of head 0 in the order kv 2, 3, 0, 1, row 3 of head 1 in the order 0, 2, 3, 1. That
// is all a schedule is. As a file:
// %%
const std::string by_hand = R"({
  "format": "dashlab.schedule/1",
  "name": "by hand",
  "problem": {"mask": "causal", "seqlen": 256, "tile-q": 64, "tile-kv": 64, "heads": 2, "head-dim": 64},
  "sms": 3,
  "placement": "static",
  "dq": "ordered",
  "chains": [
    [{"head": 0, "kv": 0, "q": [0, 1, 2, 3]}, {"head": 0, "kv": 1, "q": [1, 2, 3]}],
    [{"head": 1, "kv": 0, "q": [0, 1, 2, 3]}, {"head": 1, "kv": 1, "q": [1, 2, 3]}],
    [{"head": 0, "kv": 2, "q": [2, 3]}, {"head": 0, "kv": 3, "q": [3]},
     {"head": 1, "kv": 2, "q": [2, 3]}, {"head": 1, "kv": 3, "q": [3]}]
  ],
  "reduce": [
    {"head": 0, "q": 0, "kv": [0]},
    {"head": 0, "q": 1, "kv": [0, 1]},
    {"head": 0, "q": 2, "kv": [2, 0, 1]},
    {"head": 0, "q": 3, "kv": [2, 3, 0, 1]},
    {"head": 1, "q": 0, "kv": [0]},
    {"head": 1, "q": 1, "kv": [0, 1]},
    {"head": 1, "q": 2, "kv": [0, 2, 1]},
    {"head": 1, "q": 3, "kv": [0, 2, 3, 1]}
  ]
})";

// %%
int main() {  // hidden
  // %% [markdown]
  // ## Proof
  // %%
  const ScheduleFile file = parse_schedule(by_hand, "by hand");
  const Problem& problem = file.problem;
  const TileMap tiles(problem);
  const Verification proof = verify(problem, tiles, file.schedule);
  std::cout << (proof.valid ? "valid" : "not valid") << ", "
            << (proof.deadlock_free ? "free of deadlock" : "deadlock") << '\n';
  notebook::require(proof.valid && proof.deadlock_free, "the schedule is sound");

  // %% [markdown]
  // ## How long, and against whom
  // %%
  const Costs costs;  // c = 1, r = 1/4
  const Rational bound = lower_bounds(problem, tiles, 3, costs).best();
  const auto length_of = [&](const Schedule& schedule, Timeline* timeline = nullptr) {
    const Rational length = simulate(problem, tiles, schedule, costs, timeline).makespan_units();
    if (timeline != nullptr) timeline->title = schedule.name;
    return length;
  };
  std::vector<Timeline> timelines(3);
  const Rational mine = length_of(file.schedule, &timelines[0]);
  Table lengths({"schedule", "takes"});
  lengths.add("lower bound", to_string(bound));
  lengths.add("by hand", to_string(mine));
  for (const char* name : {"ascending", "descending", "spt", "symmetric-shift"}) {
    const Rational length = length_of(make_schedule(name, problem, tiles, {.sms = 3}));
    lengths.add(name, to_string(length));
    notebook::require(mine < length, std::string("by hand is shorter than ") + name);
  }
  lengths.print();
  notebook::require(mine == bound && mine == Rational(7) * Rational(5, 4), "7 tasks: nothing can be shorter");

  // %% [markdown]
  // ## Picture
  // %%
  length_of(make_schedule("descending", problem, tiles, {.sms = 3}), &timelines[1]);
  length_of(make_schedule("symmetric-shift", problem, tiles, {.sms = 3}), &timelines[2]);
  std::vector<viz::ComparePanel> panels;
  for (const Timeline& timeline : timelines) panels.push_back({&timeline, {}});
  notebook::show_svg(
      viz::draw_compare(panels, "two heads, causal, 4 x 4 tiles, 3 SMs", {.width = notebook::page_width})
          .bytes(viz::PictureFormat::svg));

  // %% [markdown]
  // ## Bits
  //
  // The file names tokens, so the emulator can run it: here in the profile `ieee-fp32`, whose f32 results
  // show every difference (any CUDA GPU computes the same bits). dk and dv are those of `ascending`, since
  // each chain walks its rows in the same order; dq has bits of its own, because its rows add in an order of
  // their own.
  // %%
  const RunControl control;
  RecipeRun recipe;
  recipe.recipe = "dashlab";
  recipe.scale = default_scale(problem.head_dim);
  const SeededInputs seeded = make_inputs(problem, DType::f32, 1, control);
  AttentionInputs inputs = seeded.view();
  const ForwardResult forward = run_recipe_forward(recipe, problem, inputs, control);
  inputs.o = forward.o.view();
  inputs.lse = forward.lse.view();
  const auto digests = [&](const Schedule& schedule) {
    const Gradients g = run_recipe_backward(recipe, problem, tiles, schedule, inputs, control);
    return std::array{sha256(g.dq.view().bytes()), sha256(g.dk.view().bytes()), sha256(g.dv.view().bytes())};
  };
  const auto of_hand = digests(file.schedule);
  const auto of_ascending = digests(make_schedule("ascending", problem, tiles, {.sms = 3}));
  for (std::size_t i = 0; i < 3; ++i) {
    std::cout << std::array{"dq", "dk", "dv"}[i] << "  by hand " << of_hand[i].substr(0, 16) << "  ascending "
              << of_ascending[i].substr(0, 16)
              << (of_hand[i] == of_ascending[i] ? "  equal\n" : "  different\n");
  }
  notebook::require(
      of_hand[0] != of_ascending[0] && of_hand[1] == of_ascending[1] && of_hand[2] == of_ascending[2],
      "dq differs, dk and dv do not");

  // %% [markdown]
  // On a machine with a GPU `dashlab gpu --schedule mine.json` runs the same file, and
  // `dashlab crosscheck --schedule mine.json` compares both. No kernel is rebuilt: it reads the orders from
  // memory.
  //
  // ## Mistakes
  //
  // A schedule from a user is not trusted. The reader refuses what is no schedule, with the place; the
  // verifier finds what is incomplete, and names the circle of a deadlock. Three edits of the file above:
  // %%
  const auto edited = [&](const std::string& from, const std::string& to) {
    std::string text = by_hand;
    text.replace(text.find(from), from.size(), to);
    try {
      const ScheduleFile changed = parse_schedule(text, "edited.json");
      const Verification verdict = verify(changed.problem, TileMap(changed.problem), changed.schedule);
      return verdict.valid ? std::string("valid") : verdict.errors.front().message;
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
  };
  const std::string typing = edited("\"placement\"", "\"placment\"");
  const std::string missing = edited(R"({"head": 1, "kv": 2, "q": [2, 3]}, )", "");
  const std::string circle =
      edited(R"({"head": 0, "q": 3, "kv": [2, 3, 0, 1]})", R"({"head": 0, "q": 3, "kv": [2, 1, 3, 0]})");
  std::cout << "1. " << typing << "\n2. " << missing << "\n3. " << circle << '\n';
  notebook::require(typing.find("placment") != std::string::npos, "the typing mistake is named");
  notebook::require(missing != "valid" && circle != "valid", "the others are found");

  // %% [markdown]
  // ## In C++
  //
  // The idea behind the schedule by hand is a recipe: *pack the chains, longest first, always onto the SM
  // with the least work; walk rows upward; let each row add in the order in which its tiles come when nobody
  // waits.* An order of arrival cannot deadlock, since time grows along every edge.
  // %%
  const auto packed = [](const Problem& any, const TileMap& map, std::uint32_t sms) {
    std::vector<Chain> chains;
    for (std::uint32_t head = 0; head < any.total_heads(); ++head) {
      for (std::uint32_t kv = 0; kv < map.kv_tiles(); ++kv) chains.push_back({head, kv, false});
    }
    const auto length = [&](const Chain& chain) { return map.column(KvTile{chain.tile}).size(); };
    std::stable_sort(chains.begin(), chains.end(),
                     [&](const Chain& a, const Chain& b) { return length(a) > length(b); });
    std::vector<std::vector<Chain>> lists(sms);
    std::vector<std::size_t> work(sms);
    for (const Chain& chain : chains) {
      const auto least = static_cast<std::size_t>(std::min_element(work.begin(), work.end()) - work.begin());
      work[least] += length(chain);
      lists[least].push_back(chain);
    }

    Schedule s;
    s.name = "packed, rows upward";
    s.placement = Placement::static_lists;
    s.sms = sms;
    s.sm_begin = {0};
    std::vector<std::vector<std::tuple<std::size_t, std::uint32_t, std::uint32_t>>> arrivals(
        static_cast<std::size_t>(any.total_heads()) * map.q_tiles());  // of each row: (step, SM, kv)
    for (std::uint32_t sm = 0; sm < sms; ++sm) {
      std::size_t step = 0;
      for (const Chain& chain : lists[sm]) {
        s.chains.push_back(chain);
        for (const std::uint32_t q : map.column(KvTile{chain.tile})) {
          s.steps.push_back(q);
          arrivals[chain.head * map.q_tiles() + q].emplace_back(step++, sm, chain.tile);
        }
        s.chain_begin.push_back(s.steps.size());
      }
      s.sm_begin.push_back(s.chains.size());
    }
    s.row_begin = {0};
    for (auto& row : arrivals) {
      std::sort(row.begin(), row.end());
      for (const auto& arrival : row) s.reduce_kv.push_back(std::get<2>(arrival));
      s.row_begin.push_back(s.reduce_kv.size());
    }
    return s;
  };
  const Schedule by_code = packed(problem, tiles, 3);
  notebook::require(verify(problem, tiles, by_code).valid, "the code's schedule is sound");
  std::cout << "by hand " << to_string(mine) << ", by code " << to_string(length_of(by_code)) << '\n';

  // %% [markdown]
  // Is the recipe any good? Notebook 4 listed causal problems in which every named schedule lies above the
  // bound. The list for two heads again, with the new one beside it:
  // %%
  struct Square {
    Problem problem;
    TileMap tiles;
    std::uint32_t sms;
  };
  const auto takes = [&](const Square& on, const Schedule& schedule) {
    return simulate(on.problem, on.tiles, schedule, costs).makespan_units();
  };
  const auto best_of_the_names = [&](const Square& on) {
    Rational best = takes(on, make_schedule("ascending", on.problem, on.tiles, {.sms = on.sms}));
    for (const char* name : {"descending", "spt", "symmetric-shift"}) {
      best = std::min(best, takes(on, make_schedule(name, on.problem, on.tiles, {.sms = on.sms})));
    }
    return best;
  };
  Table contest({"causal, 2 heads", "SMs", "bound", "best name", "packed"});
  int better = 0;
  int worse = 0;
  int lines = 0;
  int at_the_bound = 0;
  int sizes = 0;
  for (std::int64_t n = 3; n <= 8; ++n) {
    for (std::uint32_t sms = 2; sms <= n; ++sms) {
      const Problem causal = tile_problem(n, n, 2, CausalMask{});
      const Square on{causal, TileMap(causal), sms};
      const Rational least = lower_bounds(on.problem, on.tiles, sms, costs).best();
      const Rational best_name = best_of_the_names(on);
      const Schedule own = packed(on.problem, on.tiles, sms);
      notebook::require(verify(on.problem, on.tiles, own).valid, "sound for every size");
      const Rational length = takes(on, own);
      ++sizes;
      better += length < best_name ? 1 : 0;
      worse += length > best_name ? 1 : 0;
      if (best_name == least) continue;
      ++lines;
      at_the_bound += length == least ? 1 : 0;
      contest.add(std::to_string(n) + " x " + std::to_string(n), sms, to_string(least), to_string(best_name),
                  to_string(length));
    }
  }
  contest.print();
  std::cout << "of " << sizes << " sizes tried, packed is shorter " << better << " times, longer " << worse
            << " times\n";
  notebook::require(better == lines && lines > 5, "it wins wherever every name misses the bound");
  notebook::require(2 * at_the_bound > lines, "mostly at the bound");
  notebook::require(3 * worse > sizes, "and often loses elsewhere");

  // %% [markdown]
  // In every line of the table it is shorter than all names, and mostly at the bound. Where some name reaches
  // the bound already it is often longer: packing is right, and walking all rows upward is not always. What
  // order of rows would be better is yours to find.
  //
  // ## Keep it
  //
  // A schedule made in code is saved like any other, and read back it is the same one. From then on every
  // command takes it: `dashlab plan --schedule FILE`, `render`, `emulate`, `gpu`.
  // %%
  const std::string file_name = "dashlab_notebook_" + std::to_string(std::random_device{}()) + ".json";
  const std::filesystem::path path = std::filesystem::temp_directory_path() / file_name;
  write_schedule(path, problem, by_code);
  const ScheduleFile again = read_schedule(path);
  std::cout << std::filesystem::file_size(path) << " bytes; read back it is "
            << (again.schedule == by_code && again.problem == problem ? "the same" : "another") << '\n';
  notebook::require(again.schedule == by_code && again.problem == problem, "the file keeps everything");
  std::filesystem::remove(path);

  // %% [markdown]
  // To add a schedule to the library under a name, with its tests, see CONTRIBUTING.
  //
  // ## Exercises
  //
  // Solutions are tests: `tests/notebooks/test_exercises_8.cpp`.
  //
  // 1. Write a schedule by hand for one head, causal, 5 x 5 tiles, 3 SMs that takes 6.25 = 5 *x*.
  // 2. Take `shift` for 4 x 4 and swap two kv tiles in one row's reduce order. How many of the 24 swaps
  //    deadlock? How many if two rows get a swap each?
  // 3. Let `packed` walk rows downward instead of upward. On how many of the sizes above does the length
  //    change?
}  // hidden
