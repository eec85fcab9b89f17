// `dashlab render`: a schedule as a picture, an explorer page or a trace.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/viz/dag_picture.hpp"
#include "dashlab/viz/explorer.hpp"
#include "dashlab/viz/perfetto.hpp"
#include "dashlab/viz/scale.hpp"
#include "dashlab/viz/timeline_file.hpp"
#include "dashlab/viz/timeline_picture.hpp"
#include "flag_checks.hpp"
#include "plan_report.hpp"

namespace dashlab::cli {
namespace {

struct Options : PlanFlags {
  std::string view;
  std::string output;
  std::string title;
  std::string measured;
  bool critical_path = true;
};

/// One schedule, judged and run.
struct Run {
  PlannedSchedule planned;
  PlanReport report;
  std::string name;  ///< its caption among others
};

// The mask may be a long list: captions keep its beginning.
std::string caption(const Options& options, const Run& run) {
  if (!options.title.empty()) return options.title;
  std::string text = describe(run.planned.problem, run.planned.schedule.sms);
  const std::string mask = to_string(run.planned.problem.mask);
  if (mask.size() > 60) text = mask.substr(0, 57) + "..." + text.substr(mask.size());
  return text;
}

std::string title_of(const Options& options, const Run& run) {
  return options.title.empty() ? fmt::format("{} · {}", run.planned.schedule.name, caption(options, run))
                               : options.title;
}

bool is_page(const Options& options) {
  return options.output.ends_with(".html");
}
bool is_trace(const Options& options) {
  return options.output.ends_with(".json") || options.output.ends_with(".json.gz");
}

// Without names, a compare sheet shows every schedule that fits.
bool takes_several(const Options& options) {
  return options.view == "compare";
}

std::vector<std::string> wanted_schedules(const Options& options) {
  std::vector<std::string> names;
  if (options.schedule.schedule) {
    const std::string& text = *options.schedule.schedule;
    if (std::filesystem::exists(text)) return {text};
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      if (end == begin)
        throw BadInput(
            fmt::format("--schedule {}: a name is missing at a comma; name schedules or files", text));
      names.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return names;
}

Run make_run(const Options& options, const std::string& name) {
  ScheduleFlags flags = options.schedule;
  if (!name.empty()) flags.schedule = name;
  PlannedSchedule planned = flags.make(options.problem, "ascending");
  const Costs costs = options.costs.costs();
  PlanReport made = report(planned, costs);
  Run run{std::move(planned), std::move(made), {}};
  run.name = run.planned.schedule.name;
  if (run.report.verification.valid) {
    Timeline& timeline = run.report.timeline;
    // The bound does not know of jitter.
    viz::set_lower_bound(timeline, costs.jitter ? Rational(0) : run.report.bounds.best());
    timeline.title = title_of(options, run);
  }
  return run;
}

// The schedules asked for; when several are wanted but none is named, every one that has a meaning for the
// problem.
std::vector<Run> make_runs(const Options& options) {
  std::vector<Run> runs;
  const std::vector<std::string> names = wanted_schedules(options);
  if (names.empty() && !takes_several(options)) {
    runs.push_back(make_run(options, {}));
    return runs;
  }
  for (const std::string& name : names) {
    runs.push_back(make_run(options, name));
    if (runs.back().planned.problem != runs.front().planned.problem)
      throw BadInput(
          fmt::format("--schedule {}: is for another problem than {}; compare schedules of one problem", name,
                      names.front()));
  }
  if (!names.empty()) return runs;
  std::string why;
  for (const std::string_view name : schedule_names()) {
    try {
      runs.push_back(make_run(options, std::string(name)));
    } catch (const BadInput& reason) {
      why = reason.what();
    }
  }
  if (runs.empty()) throw BadInput(why);
  return runs;
}

void need_valid(const Run& run) {
  const Verification& found = run.report.verification;
  if (found.valid) return;
  throw BadInput(fmt::format("{} cannot be run: {}; draw it with --view dag", run.planned.schedule.name,
                             found.errors.empty() ? "it is not valid" : found.errors.front().message));
}

viz::Picture dag_of(const Options& options, const Run& run) {
  viz::DagInput input;
  input.problem = &run.planned.problem;
  input.schedule = &run.planned.schedule;
  input.title = title_of(options, run);
  input.verification = &run.report.verification;
  if (run.report.verification.valid) {
    input.sm_of_chain = run.report.simulation.sm_of_chain;
    input.timeline = &run.report.timeline;
  }
  return viz::draw_dag(input);
}

std::filesystem::path write_picture(const Options& options, const std::vector<Run>& runs) {
  const std::string view = !options.view.empty() ? options.view : runs.size() > 1 ? "compare" : "timeline";
  if (view == "dag") {
    dag_of(options, runs.front()).write(options.output);
    return options.output;
  }
  viz::TimelineStyle style;
  style.critical_path = options.critical_path;
  std::vector<viz::ComparePanel> panels;
  for (const Run& run : runs) {
    need_valid(run);
    panels.push_back({&run.report.timeline, run.name});
  }
  const viz::Picture picture = view == "timeline"
                                   ? viz::draw_timeline(runs.front().report.timeline, style)
                                   : viz::draw_compare(panels, caption(options, runs.front()), style);
  picture.write(options.output);
  return options.output;
}

std::filesystem::path write_page(const Options& options, const std::vector<Run>& runs) {
  std::vector<viz::ExplorerRun> shown;
  for (const Run& run : runs) {
    need_valid(run);
    shown.push_back({&run.report.timeline, run.name});
  }
  const PlannedSchedule& first = runs.front().planned;
  viz::ExplorerInput input;
  input.title = caption(options, runs.front());
  input.runs = shown;
  input.q_tiles = first.tiles.q_tiles(), input.kv_tiles = first.tiles.kv_tiles();
  input.heads = static_cast<std::uint32_t>(first.problem.total_heads());
  viz::write_explorer(options.output, input);
  return options.output;
}

std::filesystem::path write_trace(const Options& options, const std::vector<Run>& runs) {
  std::vector<viz::TraceRun> shown;
  for (const Run& run : runs) {
    need_valid(run);
    shown.push_back(
        {&run.report.timeline, run.report.timeline.title.empty() ? run.name : run.report.timeline.title, 0});
  }
  return viz::write_perfetto(options.output, shown);
}

// A measured run of the same work beside its prediction, which takes the measured length of a compute phase.
void add_measured(const Options& options, std::vector<Run>& runs) {
  if (options.measured.empty()) return;
  Timeline measured = viz::read_timeline(options.measured);
  if (measured.unit != "us") throw BadInput(options.measured + " is not measured: its unit is not us");
  for (Run& run : runs) {
    need_valid(run);
    const double us_per_unit = viz::matching_us_per_unit(run.report.timeline, measured);
    run.report.timeline = viz::in_microseconds(run.report.timeline, us_per_unit);
    run.name += " (predicted)";
  }
  Run run{runs.front().planned, runs.front().report, "measured"};
  run.report.timeline = std::move(measured);
  runs.push_back(std::move(run));
}

void render(const Options& options, Context& context) {
  if (is_page(options) || is_trace(options)) {
    if (options.view == "dag")
      throw BadInput("--view dag has no page or trace: end the name in .svg, .png, .pdf or .dot");
  } else {
    viz::picture_format(options.output);  // a bad name is said before the work
  }
  std::vector<Run> runs = make_runs(options);
  add_measured(options, runs);
  if (runs.size() > 1 && !options.view.empty() && options.view != "compare")
    throw BadInput(fmt::format(
        "--view {} draws one schedule: name one with --schedule, or take --view compare", options.view));
  const std::filesystem::path written = is_page(options)    ? write_page(options, runs)
                                        : is_trace(options) ? write_trace(options, runs)
                                                            : write_picture(options, runs);
  if (!runs.front().report.verification.valid) context.exit_code = exit_different;
  fmt::print("{}\n", written.string());
}

}  // namespace

void add_render(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("render", "Draw a schedule: timeline, DAG, compare sheet");
  auto options = std::make_shared<Options>();
  options->add_to(*command);
  command
      ->add_option("--view", options->view,
                   "timeline (one schedule), dag, or compare (several: --schedule A,B,..., or all that fit)")
      ->check(CLI::IsMember({"timeline", "dag", "compare"}));
  command
      ->add_option("-o,--output", options->output,
                   "the file; its ending chooses: svg, png, pdf, dot; html, a page to explore; json or "
                   "json.gz, a trace for ui.perfetto.dev")
      ->required();
  command->add_option(
      "--measured", options->measured,
      "a timeline file of a measured run (dashlab.timeline/1) to stand beside the prediction");
  command->add_option("--title", options->title, "the title, instead of schedule and problem");
  command->add_flag("!--no-critical-path", options->critical_path, "do not outline the critical path");
  command->footer(
      "Example: dashlab render --mask causal --tiles 8 --heads 4 --schedule ascending,symmetric-shift -o "
      "compare.svg");
  command->callback([options, command, &context] {
    if (is_page(*options) || is_trace(*options) || options->view == "dag")
      refuse_given(*command, {"--no-critical-path"}, "only timeline and compare outline a critical path");
    render(*options, context);
  });
}

}  // namespace dashlab::cli
