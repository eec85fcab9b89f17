// `dashlab compare`: every schedule that fits a problem, side by side, with the lower bound.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "commands.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/viz/terminal.hpp"
#include "flag_checks.hpp"
#include "plan_report.hpp"

namespace dashlab::cli {
namespace {

struct Options : PlanFlags {
  bool draw = false;
  bool json = false;
};

struct Row {
  PlannedSchedule planned;
  PlanReport report;
};

struct Refused {
  std::string name;
  std::string reason;
};

void print_table(const std::vector<Row>& rows, const std::vector<Refused>& refused) {
  fmt::print("{:<16} {:>10} {:>9} {:>8} {:>12} {:>10} {:>10}  {}\n", "schedule", "makespan", "of bound",
             "used", "reduce wait", "start-up", "imbalance", "closed form");
  for (const Row& row : rows) {
    const Simulation& sim = row.report.simulation;
    const auto units = [&](std::int64_t ticks) { return to_string(Rational(ticks, sim.ticks_per_unit)); };
    const Rational bound = row.report.bounds.best();
    const double ratio = bound > Rational(0) ? (sim.makespan_units() / bound).value() : 1;
    fmt::print("{:<16} {:>10} {:>8.3f}x {:>6.1f} % {:>12} {:>10} {:>10}  {}\n", row.planned.schedule.name,
               units(sim.makespan), ratio, 100 * sim.utilisation(), units(sim.reduce_wait),
               units(sim.startup), units(sim.tail), row.report.closed ? row.report.closed->formula : "");
  }
  for (const Refused& schedule : refused)
    fmt::print("{:<16} does not fit: {}\n", schedule.name, schedule.reason);
}

// All timelines under each other, on one time axis.
void print_timelines(const std::vector<Row>& rows) {
  const viz::TerminalStyle full = viz::terminal_style(stdout);
  Rational longest(0);
  for (const Row& row : rows) longest = std::max(longest, row.report.simulation.makespan_units());
  for (const Row& row : rows) {
    viz::TerminalStyle style = full;
    style.legend = &row == &rows.back();
    const double share =
        longest > Rational(0) ? (row.report.simulation.makespan_units() / longest).value() : 1;
    style.width = viz::terminal_width(row.report.timeline, full, share);
    fmt::print("\n{}\n{}", row.planned.schedule.name, viz::terminal_timeline(row.report.timeline, style));
  }
}

int run(const Options& o) {
  const Costs costs = o.costs.costs();
  const Problem problem = make_problem(o.problem);
  const TileMap tiles(problem);
  const ScheduleOptions options = o.schedule.options(problem);
  std::vector<Row> rows;
  std::vector<Refused> refused;
  for (std::string_view name : schedule_names()) {
    try {
      PlannedSchedule planned{problem, tiles, make_schedule(name, problem, tiles, options)};
      PlanReport r = report(planned, costs);
      rows.push_back({std::move(planned), std::move(r)});
    } catch (const BadInput& error) {
      const std::string_view reason = error.what();
      const auto colon = reason.find(": ");
      refused.push_back(
          {std::string(name), std::string(reason.substr(colon == reason.npos ? 0 : colon + 2))});
    }
  }
  if (o.json) {
    auto list = nlohmann::ordered_json::array();
    for (const Row& row : rows) list.push_back(to_json(row.planned, row.report));
    fmt::print("{}\n", list.dump(2));
    return exit_done;
  }
  fmt::print("{}, c = {}, r = {}, model {}\n\n", describe(problem, options.sms), to_string(costs.compute),
             to_string(costs.reduce), o.costs.model);
  print_table(rows, refused);
  if (o.draw) print_timelines(rows);
  if (!rows.empty()) {
    const LowerBounds& bounds = rows.front().report.bounds;
    fmt::print("\nlower bound {}: work {}, longest chain {}, longest row {}, packing {}\n",
               to_string(bounds.best()), to_string(bounds.work), to_string(bounds.longest_chain),
               to_string(bounds.longest_row),
               bounds.packing_exact()
                   ? to_string(bounds.packing)
                   : fmt::format("{}..{}", to_string(bounds.packing), to_string(bounds.packing_upper)));
  }
  return exit_done;
}

}  // namespace

void add_compare(CLI::App& app, Context& context) {
  auto o = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("compare", "All schedules that fit a problem, side by side, with the lower bound");
  o->problem.add_to(*command);
  o->schedule.add_unnamed_to(*command);
  o->costs.add_to(*command);
  command->add_flag("--draw", o->draw, "draw every timeline in the terminal, on one time axis");
  command->add_flag("--json", o->json, "print a list of dashlab.plan/1");
  command->footer("Example: dashlab compare --mask causal --tiles 8 --heads 2");
  command->callback([o, command, &context] {
    if (o->json) refuse_given(*command, {"--draw"}, "--json prints no pictures");
    context.exit_code = run(*o);
  });
}

}  // namespace dashlab::cli
