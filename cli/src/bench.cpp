// `dashlab bench`: how fast is what, as CSV.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "commands.hpp"
#include "dashlab/bench/backward.hpp"
#include "dashlab/bench/cpu.hpp"
#include "dashlab/bench/gpu.hpp"
#include "dashlab/bench/measure.hpp"
#include "dashlab/bench/plan.hpp"
#include "dashlab/core/error.hpp"

namespace dashlab::cli {

void add_bench(CLI::App& app, Context& /*context*/) {
  struct Options {
    bool cpu = false;
    bool gpu = false;
    bool plan = false;
  };
  auto o = std::make_shared<Options>();
  auto* command = app.add_subcommand("bench", "Measure this machine; CSV on standard output");
  command->add_flag("--cpu", o->cpu, "the emulator's arithmetic on one core");
  command->add_flag("--gpu", o->gpu, "whole backward passes on an H100 or H200");
  command->add_flag("--plan", o->plan, "building, verifying and simulating millions of tasks on one core");
  command->footer("Example: dashlab bench --plan");
  command->callback([o] {
    // One entry for each flag; more kinds of measurements go here.
    std::vector<bench::Row> rows;
    const auto append = [&](const std::vector<bench::Row>& more) {
      rows.insert(rows.end(), more.begin(), more.end());
    };
    if (o->cpu) append(bench::cpu_rows());
    if (o->cpu) append(bench::backward_rows());
    if (o->gpu) append(bench::gpu_rows());
    if (o->plan) append(bench::plan_rows());
    if (rows.empty()) throw BadInput("bench: nothing to measure; add --cpu, --gpu or --plan");
    fmt::print("{}", bench::to_csv(rows));
  });
}

}  // namespace dashlab::cli
