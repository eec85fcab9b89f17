// Notebook 1: addition is not associative, and what that does to dQ.
// %% [markdown]
// # 1. Three numbers and an order
//
// Train the same model twice on the same GPU with the same seed, and the losses part after some steps. No
// cosmic ray is to blame. Somewhere two processors added to one number, and the second time they came in
// the other order.
//
// This notebook shows the whole effect on a laptop: first on three numbers, then on the gradient of a small
// attention layer, computed 1,000 times with the very bits that a GPU would give.
// %%
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dashlab/core/schedule.hpp"
#include "dashlab/emulator/arrival.hpp"
#include "dashlab/emulator/compare.hpp"
#include "dashlab/emulator/inputs.hpp"
#include "dashlab/emulator/recipes.hpp"
#include "dashlab/emulator/reference.hpp"
#include "notebook.hpp"

using namespace dashlab;
using notebook::Table;

// %%
int main() {  // hidden
  // %% [markdown]
  // ## Three numbers
  //
  // An f32 has 24 significant bits. At 2²⁴ = 16,777,216 its neighbours are 2 apart, so adding 1 there is
  // lost to rounding. Whether it is lost depends on when it is added.
  // %%
  const float big = 16777216.0f;
  const float one = 1.0f;
  const float left = (big + one) + one;
  const float right = big + (one + one);
  std::cout << std::fixed << std::setprecision(0) << "(2^24 + 1) + 1 = " << left << '\n'
            << "2^24 + (1 + 1) = " << right << '\n';
  notebook::require(left == 16777216.0f && right == 16777218.0f, "the bracket decides the sum");

  // %% [markdown]
  // Both results are *correctly rounded sums*; they are just different sums. Addition in floating point is
  // commutative (a + b and b + a agree in every bit), but it is not associative.
  //
  // ## Six numbers
  //
  // How many different sums can six numbers have, if they are added one after another in every possible
  // order? There are 6! = 720 orders.
  // %%
  std::array<float, 6> numbers{0.1f, 0.7f, -1.3f, 2.9f, 0.333f, -5.77f};
  std::sort(numbers.begin(), numbers.end());
  std::map<float, int> sums;
  int orders = 0;
  do {
    float sum = 0;
    for (const float x : numbers) sum += x;
    ++sums[sum];
    ++orders;
  } while (std::next_permutation(numbers.begin(), numbers.end()));
  for (const auto& [sum, count] : sums) {
    std::cout << std::setprecision(9) << std::setw(13) << sum << "  " << std::setw(3) << count << ' '
              << notebook::bar(count, orders, 60) << '\n';
  }
  std::cout << orders << " orders, " << sums.size() << " different sums\n";
  notebook::require(orders == 720 && sums.size() > 1, "six numbers have several sums");

  // %% [markdown]
  // ## A row of dQ is such a sum
  //
  // In the backward pass of attention, each tile of keys contributes a part to the gradient of each query
  // row: dQ = Σ over kv tiles of (a partial result). On a GPU the kv tiles are worked on by different
  // processors (SMs), and each adds its part to memory when it has it. With plain atomic adds the order is
  // the order of *arrival*, which depends on clocks, caches and neighbours.
  //
  // The emulator computes what the GPU would. Here are 32 queries and 256 keys in 8 kv tiles, in the profile
  // `ieee-fp32`, whose results are f32. `arrival_order` plays one possible run: tasks take 1 to 2 units of
  // time, at random, and parts are added as they come.
  // %%
  const auto layer_problem = [](std::int64_t queries, std::int64_t keys, std::int64_t dim) {
    Problem problem;
    problem.seqlen_q = queries;
    problem.seqlen_k = keys;
    problem.head_dim = dim;
    problem.tile_q = queries;
    problem.tile_kv = keys / 8;
    return problem;
  };
  const RunControl control;
  const std::uint32_t sms = 8;  // one for each kv tile

  // %%
  // Inputs of one type, with o and lse of the forward pass, and the backward pass under any schedule.
  struct Layer {
    Problem problem;
    RecipeRun run;
    SeededInputs seeded;
    ForwardResult forward;
    AttentionInputs inputs;
  };
  const auto make_layer = [&](const Problem& problem, DType type) {
    Layer layer;
    layer.problem = problem;
    layer.run.recipe = "dashlab";
    layer.run.scale = default_scale(problem.head_dim);
    layer.seeded = make_inputs(problem, type, 7, control);
    layer.inputs = layer.seeded.view();
    layer.forward = run_recipe_forward(layer.run, problem, layer.inputs, control);
    layer.inputs.o = layer.forward.o.view();
    layer.inputs.lse = layer.forward.lse.view();
    return layer;
  };
  const auto schedule_of = [&](const Layer& layer, const std::string& name, std::uint32_t on_sms) {
    return make_schedule(name, layer.problem, TileMap(layer.problem), {.sms = on_sms});
  };
  const auto arrive = [&](const Layer& layer, std::uint64_t seed) {
    return arrival_order(layer.problem, schedule_of(layer, "atomic", sms), seed);
  };
  const auto backward = [&](const Layer& layer, const Schedule& schedule, int threads) {
    RunControl with_threads;
    with_threads.threads = threads;
    return run_recipe_backward(layer.run, layer.problem, TileMap(layer.problem), schedule, layer.inputs,
                               with_threads);
  };

  // %%
  const Layer f32 = make_layer(layer_problem(32, 256, 32), DType::f32);
  const Gradients first = backward(f32, arrive(f32, 0), 1);

  const int runs = 1000;
  std::set<std::string> digests;
  std::vector<Comparison> differences;
  for (int run = 0; run < runs; ++run) {
    const Gradients again = backward(f32, arrive(f32, static_cast<std::uint64_t>(run)), 1);
    digests.insert(sha256(again.dq.view().bytes()));
    differences.push_back(compare("dq", first.dq.view(), again.dq.view()));
  }
  std::cout << runs << " runs gave " << digests.size() << " different dQ\n";
  notebook::require(digests.size() > 900, "nearly every run has a dQ of its own");

  // %% [markdown]
  // Nearly every run is one of its kind. How far apart are they? The unit is the *ulp*, the distance between
  // neighbouring f32 numbers at the element's own size. The histogram counts the elements of all runs by
  // their distance from run 0.
  // %%
  std::array<std::int64_t, 34> histogram{};
  std::int64_t elements = 0;
  std::int64_t differ = 0;
  std::uint64_t largest = 0;
  for (const Comparison& one_run : differences) {
    elements += one_run.elements;
    differ += one_run.differ;
    largest = std::max(largest, one_run.largest_ulp);
    for (std::size_t i = 0; i < histogram.size(); ++i) histogram[i] += one_run.ulp_histogram[i];
  }
  const auto share = [&](std::int64_t count) {
    return static_cast<double>(count) / static_cast<double>(elements);
  };
  std::cout << std::setprecision(3) << "distance in ulp      share of elements\n";
  std::cout << "equal            " << std::setw(7) << 100 * share(elements - differ) << " %  "
            << notebook::bar(share(elements - differ), 1, 70) << '\n';
  for (std::size_t i = 1; i < histogram.size() && histogram[i] > 0; ++i) {
    const std::string range =
        i == 1 ? "1" : std::to_string(1 << (i - 1)) + " to " + std::to_string((1 << i) - 1);
    std::cout << std::left << std::setw(17) << range << std::right << std::setw(7)
              << 100 * share(histogram[i]) << " %  " << notebook::bar(share(histogram[i]), 1, 70) << '\n';
  }
  std::cout << "largest distance: " << largest << " ulp\n";
  notebook::require(histogram[1] + histogram[2] > differ / 2, "most differences are of one to three ulp");
  notebook::require(largest > 16, "some elements nearly cancel and differ by many ulp");

  // %% [markdown]
  // Most differences are of one to three ulp; the long tail are elements that nearly cancel to zero, whose
  // own ulp is tiny.
  //
  // ## No order is the right one
  //
  // It is tempting to think that one order is the accurate one. Against the same gradient in double
  // precision all are equally good:
  // %%
  const Reference reference =
      fp64_reference(f32.problem, f32.inputs, static_cast<double>(f32.run.scale), control);
  Table errors({"order", "relative error (L2)", "SHA-256 of dQ begins"});
  double least = 1;
  double most = 0;
  for (const char* name : {"ascending", "spt", "arrival 1", "arrival 2", "arrival 3"}) {
    const std::string text = name;
    const Schedule schedule = text.starts_with("arrival")
                                  ? arrive(f32, static_cast<std::uint64_t>(text.back() - '0'))
                                  : schedule_of(f32, text, sms);
    const Gradients gradients = backward(f32, schedule, 1);
    const double error = error_norms(gradients.dq.view(), reference.dq).relative_l2;
    least = std::min(least, error);
    most = std::max(most, error);
    std::ostringstream shown;
    shown << std::scientific << std::setprecision(2) << error;
    errors.add(text, shown.str(), sha256(gradients.dq.view().bytes()).substr(0, 8));
  }
  errors.print();
  notebook::require(most < 1.1 * least, "no order is 10 % more accurate than another");

  // %% [markdown]
  // So determinism buys no accuracy. It buys *the same* numbers: a bug that can be reproduced, a training run
  // that can be resumed, a proof that a gradient came from where it claims.
  //
  // ## A fixed order gives one result
  //
  // Fix the order in which kv tiles add (the *reduce order*), and nothing else matters: not the number of
  // threads, not which SM does what. `ascending` and `descending` reduce in the same order; `spt` reverses
  // it.
  // %%
  std::set<std::string> of_fixed;
  for (const int threads : {1, 2, 3}) {
    for (const std::uint32_t on_sms : {1U, 3U, 8U}) {
      for (const char* name : {"ascending", "descending"}) {
        const Schedule schedule = schedule_of(f32, name, on_sms);
        of_fixed.insert(sha256(backward(f32, schedule, threads).dq.view().bytes()));
      }
    }
  }
  const Schedule reversed = schedule_of(f32, "spt", sms);
  const std::string of_spt = sha256(backward(f32, reversed, 1).dq.view().bytes());
  std::cout << "18 runs in ascending order: " << of_fixed.size() << " dQ\n"
            << "spt gives the same bits: " << (of_fixed.contains(of_spt) ? "yes" : "no") << '\n';
  notebook::require(of_fixed.size() == 1, "threads, SMs and q order leave dQ alone");
  notebook::require(!of_fixed.contains(of_spt), "another reduce order gives other bits");

  // %% [markdown]
  // ## Half precision hides it, and does not heal it
  //
  // In practice inputs and outputs are bf16, with 8 significant bits; the sum is still made in f32 and
  // rounded at the end. Rounding swallows most differences. Most is not all: here is a larger layer, 128
  // queries and 512 keys.
  // %%
  const Layer bf16 = make_layer(layer_problem(128, 512, 64), DType::bf16);
  const Gradients first_bf16 = backward(bf16, arrive(bf16, 0), 1);
  std::int64_t runs_that_differ = 0;
  std::int64_t elements_that_differ = 0;
  const int bf16_runs = 200;
  for (int run = 1; run <= bf16_runs; ++run) {
    const Gradients again = backward(bf16, arrive(bf16, static_cast<std::uint64_t>(run)), 1);
    const Comparison comparison = compare("dq", first_bf16.dq.view(), again.dq.view());
    runs_that_differ += comparison.differ > 0 ? 1 : 0;
    elements_that_differ += comparison.differ;
    notebook::require(comparison.largest_ulp <= 1, "a bf16 that differs differs in its last place");
  }
  const double per_million =
      1e6 * static_cast<double>(elements_that_differ) /
      (static_cast<double>(bf16_runs) * static_cast<double>(first_bf16.dq.view().elements()));
  std::cout << runs_that_differ << " of " << bf16_runs
            << " runs differ from run 0: " << notebook::fixed(per_million, 1) << " in a million elements,\n"
            << "or " << notebook::fixed(per_million / 1e6 * 4096 * 4096, 0) << " of a dQ of 4096 x 4096\n";
  notebook::require(elements_that_differ > 0, "rounding to bf16 does not hide every difference");
  notebook::require(runs_that_differ < bf16_runs / 2, "but most");

  // %% [markdown]
  // A few elements in a million, each by the last place of a bf16. This layer is tiny; in one of ordinary
  // size some element of every step differs, and the next step begins from other weights. From there on two
  // runs drift apart like two double pendulums.
  //
  // The cure is an order that everyone keeps. Its price is waiting, and how little waiting is possible is
  // what the next notebooks are about.
  //
  // ## Exercises
  //
  // Solutions are tests: `tests/notebooks/test_exercises_1.cpp`.
  //
  // 1. Find three bf16 numbers for which all three ways to bracket a sum of three give different f32 results.
  // 2. With 2 kv tiles, how many different dQ can arrival give? With 3? Say it first, then count.
  // 3. Cut every partial result to a multiple of 2⁻²⁰ and add integers. Show that arrival no longer matters.
  //    What is lost, and when does it break?
}  // hidden
