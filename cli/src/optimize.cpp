// `dashlab optimize`: searches a schedule at the lower bound and writes it to a file.
#include "dashlab/core/optimize.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "commands.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/core/schedule_file.hpp"
#include "dashlab/core/whole_file.hpp"
#include "plan_report.hpp"
#include "run_flags.hpp"

namespace dashlab::cli {
namespace {

struct Options {
  ProblemFlags problem;
  ScheduleFlags schedule;
  CostFlags costs;
  RunFlags run;  // progress and Ctrl-C; the search has one thread
  double seconds = 10;
  std::uint64_t seed = 0;
  double gap = 0;
  std::optional<std::string> output;
  bool json = false;
};

double over(const Optimized& found) {
  return found.lower_bound > Rational(0) ? (found.makespan / found.lower_bound).value() - 1 : 0;
}

std::string why_it_ended(const Optimized& found) {
  if (found.at_packing) return "; no shorter packing of the chains was found";
  if (found.schedule.steps.size() > most_searched_tasks) {
    return fmt::format("; above {} tasks only the named schedules are compared", most_searched_tasks);
  }
  return "";
}

nlohmann::ordered_json to_json(const Optimized& found, const Problem& problem, const Options& o, double took,
                               bool interrupted) {
  return {{"format", "dashlab.optimize/1"},
          {"mask", to_string(problem.mask)},
          {"sms", found.schedule.sms},
          {"makespan", found.makespan.value()},
          {"lower_bound", found.lower_bound.value()},
          {"gap", over(found)},
          {"optimal", found.optimal()},
          {"best_named", {{"schedule", found.best_named}, {"makespan", found.best_named_makespan.value()}}},
          {"placements", found.rounds},
          {"seconds", took},
          {"seed", o.seed},
          {"interrupted", interrupted},
          {"output", o.output ? nlohmann::ordered_json(*o.output) : nullptr}};
}

int run(Options& o) {
  using clock = std::chrono::steady_clock;
  const Problem problem = make_problem(o.problem);
  const TileMap tiles(problem);
  const ScheduleOptions schedule = o.schedule.options(problem);
  const Costs costs = o.costs.costs();
  if (costs.jitter)
    throw BadInput("--jitter: the search needs the same times in every run; leave the flag out");

  if (!std::isfinite(o.gap) || !std::isfinite(o.seconds)) {
    throw BadInput("--gap, --time: must be finite numbers, e.g. 0.01 and 60");
  }
  if (o.output) WholeFile{*o.output};  // a place that cannot be written is said before the work

  const RunControl control = o.run.control("optimize");
  const auto start = clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(clock::now() - start).count(); };
  OptimizeOptions options;
  options.sms = schedule.sms;
  options.group_mode = schedule.group_mode;
  options.costs = costs;
  options.seed = o.seed;
  options.gap = o.gap;
  options.rounds = std::numeric_limits<std::uint64_t>::max();
  options.keep_going = [&](const OptimizeProgress&) {
    const double now = elapsed();
    if (control.progress && now < o.seconds) {
      control.progress(static_cast<std::uint64_t>(now * 1000), static_cast<std::uint64_t>(o.seconds * 1000));
    }
    return now < o.seconds && !control.stop->load();
  };
  const Optimized found = optimize("optimized", problem, tiles, options);
  const double took = elapsed();
  o.run.done();
  const bool interrupted = control.stop->load();

  if (o.output) write_schedule(*o.output, problem, found.schedule);
  if (o.json) {
    fmt::print("{}\n", to_json(found, problem, o, took, interrupted).dump(2));
    return exit_done;
  }
  fmt::print("{}, c = {}, r = {}, model {}\n\n", describe(problem, schedule.sms), to_string(costs.compute),
             to_string(costs.reduce), o.costs.model);
  fmt::print("best named     {}   ({})\n", to_string(found.best_named_makespan), found.best_named);
  fmt::print("found          {}\n", to_string(found.makespan));
  fmt::print("lower bound    {}   ({})\n", to_string(found.lower_bound),
             found.optimal()
                 ? "reached: nothing is shorter"
                 : fmt::format("found is {:.2g} % above{}", 100 * over(found), why_it_ended(found)));
  fmt::print("search         {} placement{} in {:.2f} s, seed {}{}\n", found.rounds,
             found.rounds == 1 ? "" : "s", took, o.seed, interrupted ? "; interrupted" : "");
  if (o.output) fmt::print("written to {}\n", *o.output);
  return exit_done;
}

}  // namespace

void add_optimize(CLI::App& app, Context& context) {
  auto o = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("optimize", "Search a schedule at the lower bound and write it to a file");
  o->problem.add_to(*command);
  o->schedule.add_unnamed_to(*command);
  o->costs.add_to(*command);
  command->add_option("--time", o->seconds, "seconds to search at most; Ctrl-C keeps the best so far")
      ->check(CLI::Range(0.01, 1e6))
      ->capture_default_str();
  command->add_option("--seed", o->seed, "of the search")->capture_default_str();
  command->add_option("--gap", o->gap, "enough when this far above the lower bound: 0.01 is 1 %")
      ->check(CLI::Range(0.0, 1e3))
      ->capture_default_str();
  command->add_option("-o,--output", o->output, "write the schedule to this file (dashlab.schedule/1)");
  command->add_flag("--json", o->json, "print dashlab.optimize/1");
  command->footer("Example: dashlab optimize --mask causal --tiles 5 --sms 3 --time 5 -o best.json");
  command->callback([o, &context] { context.exit_code = run(*o); });
}

}  // namespace dashlab::cli
