// `dashlab plan`: one schedule, verified, simulated and drawn in the terminal.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "commands.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/core/schedule_file.hpp"
#include "dashlab/viz/terminal.hpp"
#include "flag_checks.hpp"
#include "plan_report.hpp"
#include "verify_report.hpp"

namespace dashlab::cli {
namespace {

struct Options : PlanFlags {
  std::optional<std::string> output;
  std::uint32_t runs = 1;
  std::uint32_t resident = 1;
  bool json = false;
};

std::string percent(double fraction) {
  return fmt::format("{:.1f} %", 100 * fraction);
}

void print_times(const PlannedSchedule& planned, const PlanReport& r) {
  const Simulation& sim = r.simulation;
  const auto units = [&](std::int64_t ticks) { return to_string(Rational(ticks, sim.ticks_per_unit)); };
  const double over =
      r.bounds.best() > Rational(0) ? (sim.makespan_units() / r.bounds.best()).value() - 1 : 0;
  fmt::print("makespan       {}", units(sim.makespan));
  if (r.closed) fmt::print("   (closed form {} = {})", to_string(r.closed->makespan), r.closed->formula);
  fmt::print("\nlower bound    {}   ({}makespan {} above)\n", to_string(r.bounds.best()),
             r.bounds.packing_exact()
                 ? ""
                 : fmt::format("no packing found below {}; ", to_string(r.bounds.packing_upper)),
             percent(over));
  fmt::print("utilisation    {}   (work {} on {} SMs)\n", percent(sim.utilisation()), units(sim.work),
             planned.schedule.sms);
  fmt::print("bubbles        reduce wait {}, start-up {}, imbalance {}   (SM time)\n", units(sim.reduce_wait),
             units(sim.startup), units(sim.tail));
}

void print_proofs(const PlanReport& r) {
  const auto yes = [](bool value) { return value ? "yes" : "no"; };
  fmt::print("deadlock-free  {}\nconflict-free  {}\nLemma 1 holds  {}\n", yes(r.verification.deadlock_free),
             yes(r.alignment.conflict_free), yes(r.alignment.lemma1));
}

// Makespans over `runs` seeds that follow each other.
void print_jitter(const PlannedSchedule& planned, Costs costs, std::uint32_t runs) {
  std::vector<double> makespans;
  for (std::uint32_t run = 0; run < runs; ++run, ++costs.jitter->seed) {
    const Simulation sim = simulate(planned.problem, planned.tiles, planned.schedule, costs);
    makespans.push_back(static_cast<double>(sim.makespan) / static_cast<double>(sim.ticks_per_unit));
  }
  std::ranges::sort(makespans);
  double sum = 0;
  for (double makespan : makespans) sum += makespan;
  const auto quantile = [&](double p) {
    return makespans[static_cast<std::size_t>(p * static_cast<double>(makespans.size() - 1) + 0.5)];
  };
  fmt::print("jitter         {} runs: mean {:.4f}, p50 {:.4f}, p99 {:.4f}\n", runs, sum / runs, quantile(0.5),
             quantile(0.99));
}

int run(const Options& o) {
  const Costs costs = o.costs.costs();
  if (o.runs > 1 && !costs.jitter) throw BadInput("--runs: only --jitter makes runs differ; give both");
  const PlannedSchedule planned = o.schedule.make(o.problem, "ascending");
  const PlanReport r = report(planned, costs, o.resident);
  if (!r.verification.valid) {
    if (o.json) {
      fmt::print("{}\n", to_json(r.verification).dump(2));
    } else {
      print_errors(r.verification);
    }
    return exit_different;
  }
  if (o.output) write_schedule(*o.output, planned.problem, planned.schedule);
  if (o.json) {
    fmt::print("{}\n", to_json(planned, r).dump(2));
    return exit_done;
  }
  fmt::print("{}: {}\n\n{}\n", planned.schedule.name, describe(planned.problem, planned.schedule.sms),
             viz::terminal_timeline(r.timeline, viz::terminal_style(stdout)));
  print_times(planned, r);
  if (costs.jitter) print_jitter(planned, costs, o.runs);
  print_proofs(r);
  return exit_done;
}

}  // namespace

void add_plan(CLI::App& app, Context& context) {
  auto o = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("plan", "Build, verify and simulate one schedule and draw it in the terminal");
  o->add_to(*command);
  command->add_option("-o,--output", o->output, "write the schedule to this file (dashlab.schedule/1)");
  command->add_option("--runs", o->runs, "with --jitter: simulate this many seeds; mean, p50 and p99")
      ->check(CLI::Range(1U, 1'000'000U))
      ->capture_default_str();
  command->add_option("--resident", o->resident, "CTAs that share an SM (dynamic placement)")
      ->check(CLI::Range(1U, 32U))
      ->capture_default_str();
  command->add_flag("--json", o->json, "print dashlab.plan/1");
  command->footer("Example: dashlab plan --mask causal --tiles 8 --heads 2 --schedule symmetric-shift");
  command->callback([o, command, &context] {
    if (o->json) refuse_given(*command, {"--runs"}, "--json describes one run");
    context.exit_code = run(*o);
  });
}

}  // namespace dashlab::cli
