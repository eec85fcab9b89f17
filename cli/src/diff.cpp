// `dashlab diff A B`: where two saved results part, down to the task and the step.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "audit_setup.hpp"
#include "commands.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/emulator/trace.hpp"
#include "diff_report.hpp"

namespace dashlab::cli {

namespace {

struct Options {
  std::string a, b;
  bool json = false;
};

bool is_gradient(const std::string& name) {
  return name == "dq" || name == "dk" || name == "dv";
}

TracedRun traced(const SafetensorsFile& file) {
  AuditSetup setup = make_setup({}, file, read_recording(file));
  return {std::move(setup.run), std::move(setup.problem), std::move(setup.schedule)};
}

/// Traces the first difference of each gradient, where both files hold the same inputs and say how they were
/// made.
void add_traces(const SafetensorsFile& a, const SafetensorsFile& b, std::vector<TensorDiff>& diffs) {
  for (const char* name : {"q", "k", "v", "do", "o", "lse"}) {
    if (!a.has(name) || !b.has(name)) return;
    if (compare(name, a.tensor(name), b.tensor(name)).differ != 0) return;
  }
  try {
    const Recording recording = read_recording(a);
    const TracedRun run_a = traced(a);
    const TracedRun run_b = traced(b);
    for (TensorDiff& diff : diffs)
      if (diff.comparison.differ != 0 && is_gradient(diff.name))
        diff.trace = trace_element(diff.name, unravel(diff.a.shape, diff.comparison.first), recording.inputs,
                                   run_a, run_b);
  } catch (const BadInput&) {
    // Results of unknown origin can be compared, but not traced.
    return;
  }
}

void run(const Options& o, Context& context) {
  const SafetensorsFile a(o.a);
  const SafetensorsFile b(o.b);
  std::vector<TensorDiff> diffs;
  std::vector<std::string> alone;
  for (const std::string& name : a.names()) {
    if (b.has(name))
      diffs.push_back(diff_tensor(name, a.tensor(name), b.tensor(name)));
    else
      alone.push_back(name);
  }
  for (const std::string& name : b.names())
    if (!a.has(name)) alone.push_back(name);
  if (diffs.empty())
    throw BadInput(
        fmt::format("{} and {} have no tensor in common; compare results of one problem", o.a, o.b));
  add_traces(a, b, diffs);
  if (o.json) {
    nlohmann::ordered_json json{{"format", "dashlab.diff/1"}};
    json.update(to_json(diffs));
    if (!alone.empty()) json["equal"] = false;
    if (!alone.empty()) json["only_in_one"] = alone;
    fmt::print("{}\n", json.dump(2));
  } else {
    print_diffs(diffs);
    if (!alone.empty()) fmt::print("only in one of the files: {}\n", fmt::join(alone, " "));
  }
  context.exit_code = all_equal(diffs) && alone.empty() ? exit_done : exit_different;
}

}  // namespace

void add_diff(CLI::App& app, Context& context) {
  auto o = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("diff", "Compare two saved results: counts, ULPs, the step where they part");
  command->add_option("A", o->a, "safetensors file")->required();
  command->add_option("B", o->b, "safetensors file")->required();
  command->add_flag("--json", o->json, "print dashlab.diff/1");
  command->footer("Example: dashlab diff ascending.safetensors spt.safetensors");
  command->callback([o, &context] { run(*o, context); });
}

}  // namespace dashlab::cli
