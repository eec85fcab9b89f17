// `dashlab shuffle --runs N`: how many different dQ random arrival gives, against one for a fixed order.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "commands.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/emulator/arrival.hpp"
#include "dashlab/emulator/compare.hpp"
#include "run_inputs.hpp"

namespace dashlab::cli {

namespace {

struct Options : ComputeFlags {
  int runs = 20;
};

/// What a number of runs showed.
struct Spread {
  std::set<std::string> digests;
  std::int64_t elements_that_vary = 0;
  std::uint64_t largest_ulp = 0;  ///< between the smallest and the largest value of one element
};

/// Smallest and largest value of every element so far.
class Extremes {
 public:
  void add(const TensorView& x) {
    if (low_.empty()) low_ = Tensor::copy_of(x), high_ = Tensor::copy_of(x);
    const bool wide = x.dtype == DType::f32;
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      if (x.value(i) < low_.view().value(i))
        wide ? void(low_.f32()[i] = x.f32()[i]) : void(low_.u16()[i] = x.u16()[i]);
      if (x.value(i) > high_.view().value(i))
        wide ? void(high_.f32()[i] = x.f32()[i]) : void(high_.u16()[i] = x.u16()[i]);
    }
  }
  void finish(Spread& spread) const {
    for (std::int64_t i = 0; i < low_.view().elements(); ++i) {
      const std::uint64_t distance = ulp_distance(low_.view().bits(i), high_.view().bits(i), low_.dtype());
      spread.elements_that_vary += distance != 0;
      spread.largest_ulp = std::max(spread.largest_ulp, distance);
    }
  }

 private:
  Tensor low_, high_;
};

/// Runs the plan `runs` times, each with the schedule that `schedule_of_run(i)` gives.
template <typename ScheduleOfRun>
Spread spread_of(const RunInputs& inputs, Options& o, ScheduleOfRun schedule_of_run) {
  Spread spread;
  Extremes extremes;
  RunControl control = o.run.control("shuffle");
  control.progress = nullptr;
  for (int i = 0; i < o.runs; ++i) {
    const Gradients g = run_recipe_backward(inputs.run, inputs.plan.problem, inputs.plan.tiles,
                                            schedule_of_run(i), inputs.tensors, control);
    spread.digests.insert(sha256(g.dq.view().bytes()));
    extremes.add(g.dq.view());
  }
  extremes.finish(spread);
  return spread;
}

/// Why nothing varied, and what may show it; empty where something did. `first`: the first run's orders;
/// `same_order`: no run had others.
std::string why_alike(const Options& o, const RunInputs& inputs, const Spread& shuffled,
                      const Schedule& first, bool same_order) {
  if (shuffled.digests.size() > 1) return "";
  if (o.runs == 1) return "One run has nothing to differ from; try --runs 20.";
  if (same_order)
    return "Here it does not show: every run had the same order of arrival; try more --sms or more kv tiles.";
  const std::string tiles = o.schedule.is_file() ? "a schedule of smaller kv tiles" : "a smaller --tile-kv";
  std::uint64_t longest_row = 0;
  for (std::size_t row = 1; row < first.row_begin.size(); ++row)
    longest_row = std::max(longest_row, first.row_begin[row] - first.row_begin[row - 1]);
  if (longest_row <= 2)
    return fmt::format("Here it does not show: two kv tiles give the same sum in both orders; try {}.",
                       tiles);
  const bool wide = inputs.dtype == DType::f32;
  return fmt::format(
      "Here it does not show: {} differences of so few kv tiles ({} in a row of dQ); try {}{}.",
      wide ? "the runs came upon no" : fmt::format("rounding to {} hides the", to_string(inputs.dtype)),
      longest_row, wide || o.input.input ? "" : "--profile ieee-fp32 or ", tiles);
}

/// Three numbers, three orders: why the order of a sum decides bits.
nlohmann::ordered_json three_numbers() {
  const float big = 1e8F;
  volatile float a = 1.0F, b = big, c = -big;  // volatile: summed here and now, not by the compiler
  const float first = (a + b) + c;
  const float second = (b + c) + a;
  return {{"numbers", {1.0, 1e8, -1e8}}, {"(1 + 1e8) - 1e8", first}, {"(1e8 - 1e8) + 1", second}};
}

void run(Options& o, Context& context) {
  if (o.input.arrival) throw BadInput("--arrival: shuffle draws its own orders; leave the flag out");
  if (o.input.recipe == "fa2-torch")
    throw BadInput("--recipe fa2-torch has a fixed order; use dashlab or fa3");
  const RunInputs inputs = make_run(o);
  const Problem& problem = inputs.plan.problem;
  const std::uint64_t seed = o.input.seed.value_or(0);
  Schedule first;
  bool same_order = true;
  const Spread shuffled = spread_of(inputs, o, [&](int i) {
    Schedule arrived = arrival_order(problem, inputs.plan.schedule, seed + static_cast<std::uint64_t>(i) + 1);
    if (i == 0) first = arrived;
    same_order = same_order && arrived.reduce_kv == first.reduce_kv;
    return arrived;
  });
  const Schedule fixed =
      inputs.plan.schedule.dq_mode == DqMode::arrival
          ? make_schedule("ascending", problem, inputs.plan.tiles, o.schedule.options(problem))
          : inputs.plan.schedule;
  const Spread ordered = spread_of(inputs, o, [&](int) { return fixed; });
  const auto elements = static_cast<double>(inputs.tensors.q.elements());
  if (o.json) {
    const auto side = [&](const Spread& s) {
      return nlohmann::ordered_json{{"different_dq", s.digests.size()},
                                    {"elements_that_vary", s.elements_that_vary},
                                    {"largest_ulp", s.largest_ulp}};
    };
    fmt::print("{}\n", nlohmann::ordered_json{{"format", "dashlab.shuffle/1"},
                                              {"three_numbers", three_numbers()},
                                              {"runs", o.runs},
                                              {"random_arrival", side(shuffled)},
                                              {"fixed_order", side(ordered)}}
                           .dump(2));
  } else {
    const nlohmann::ordered_json three = three_numbers();
    fmt::print("Three numbers in f32: (1 + 1e8) - 1e8 = {}, but (1e8 - 1e8) + 1 = {}.\n",
               three["(1 + 1e8) - 1e8"].get<double>(), three["(1e8 - 1e8) + 1"].get<double>());
    fmt::print("The same happens to dQ, {} elements, {} runs each:\n", inputs.tensors.q.elements(), o.runs);
    fmt::print("  random arrival:        {} different dq; {} elements vary ({:.2f}%), by up to {} ULP\n",
               shuffled.digests.size(), shuffled.elements_that_vary,
               100 * static_cast<double>(shuffled.elements_that_vary) / elements, shuffled.largest_ulp);
    fmt::print("  fixed order ({}): {} different dq\n", fixed.name, ordered.digests.size());
    const std::string why = why_alike(o, inputs, shuffled, first, same_order);
    if (!why.empty()) fmt::print("{}\n", why);
  }
  context.exit_code = exit_done;
}

}  // namespace

void add_shuffle(CLI::App& app, Context& context) {
  auto o = std::make_shared<Options>();
  auto* command = app.add_subcommand("shuffle", "Count how many different dQ random arrival gives");
  o->add_to(*command, "dashlab.shuffle/1");
  command->add_option("--runs", o->runs, "runs of each kind")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->footer("Example: dashlab shuffle --runs 20 --seqlen 1024 --head-dim 64");
  command->callback([o, &context] {
    if (!o->problem.given() && !o->input.input && !o->schedule.is_file())
      o->problem.seqlen = 1024, o->problem.head_dim = 64;
    run(*o, context);
  });
}

}  // namespace dashlab::cli
