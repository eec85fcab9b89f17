// `dashlab crosscheck [A B]`: the CPU's gradients against the GPU's, or those of two saved runs.
#include <fmt/format.h>

#include <array>
#include <memory>

#include "commands.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/emulator/trace.hpp"
#include "diff_report.hpp"
#include "flag_checks.hpp"
#include "gpu_flags.hpp"

namespace dashlab::cli {

namespace {

struct Options : ComputeFlags {
  std::vector<std::string> files;
  LaunchFlags launch;
};

void report(const std::vector<TensorDiff>& diffs, bool json, Context& context) {
  if (json) {
    nlohmann::ordered_json object = to_json(diffs);
    object["format"] = "dashlab.crosscheck/1";
    fmt::print("{}\n", object.dump(2));
  } else {
    print_diffs(diffs);
  }
  context.exit_code = all_equal(diffs) ? exit_done : exit_different;
}

void check_files(const Options& o, Context& context) {
  if (o.files.size() != 2)
    throw BadInput("crosscheck: give two files, or none to compare the CPU with the GPU");
  const SafetensorsFile a(o.files[0]);
  const SafetensorsFile b(o.files[1]);
  std::vector<TensorDiff> diffs;
  for (const char* name : {"dq", "dk", "dv"})
    diffs.push_back(diff_tensor(name, a.tensor(name), b.tensor(name)));
  report(diffs, o.json, context);
}

/// A is the CPU, B the GPU. Both follow one plan, so a difference is traced along the steps of that plan.
void check_machines(Options& o, Context& context) {
  const RunInputs inputs = make_gpu_run(o, o.launch);
  gpu::BackwardSession session(inputs.plan.problem, inputs.plan.tiles, inputs.plan.schedule, inputs.tensors,
                               o.launch.options(inputs));
  session.run(o.launch.dirty);
  const Gradients on_gpu = session.results();
  const Gradients on_cpu =
      run_recipe_backward(inputs.run, inputs.plan.problem, inputs.plan.tiles, inputs.plan.schedule,
                          inputs.tensors, o.run.control("backward"));
  o.run.done();
  std::vector<TensorDiff> diffs{diff_tensor("dq", on_cpu.dq.view(), on_gpu.dq.view()),
                                diff_tensor("dk", on_cpu.dk.view(), on_gpu.dk.view()),
                                diff_tensor("dv", on_cpu.dv.view(), on_gpu.dv.view())};
  const TracedRun traced{inputs.run, inputs.plan.problem, inputs.plan.schedule};
  for (TensorDiff& diff : diffs)
    if (diff.comparison.differ != 0)
      diff.trace = trace_element(diff.name, unravel(diff.a.shape, diff.comparison.first), inputs.tensors,
                                 traced, traced);
  report(diffs, o.json, context);
}

}  // namespace

void add_crosscheck(CLI::App& app, Context& context) {
  auto o = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("crosscheck", "Compare the CPU's gradients with the GPU's, or two saved runs");
  command->add_option("FILES", o->files,
                      "two safetensors files with dq, dk, dv; without them CPU and GPU compute");
  o->add_to(*command, "dashlab.crosscheck/1");
  o->launch.add_to(*command);
  command->footer(
      "Examples: dashlab crosscheck --seqlen 1024 --mask causal --schedule spt --seed 1\n"
      "          dashlab crosscheck cpu.safetensors gpu.safetensors");
  command->callback([o, command, &context] {
    if (!o->files.empty()) {
      refuse_given_but(*command, {"FILES", "--json"}, "two files are compared as they are");
      return check_files(*o, context);
    }
    try {
      check_machines(*o, context);
    } catch (const gpu::Stuck& stuck) {
      fmt::print(stderr, "dashlab: {}\n", stuck.what());
      context.exit_code = exit_different;
    }
  });
}

}  // namespace dashlab::cli
