// `dashlab emulate`: the backward pass on the CPU, every bit as the GPU gives it.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "dashlab/core/whole_file.hpp"
#include "dashlab/emulator/reference.hpp"
#include "run_inputs.hpp"

namespace dashlab::cli {

namespace {

struct Options : ComputeFlags {
  std::optional<std::string> output;
  bool reference = false;
};

const std::vector<double>& part_of(const Reference& reference, const std::string& name) {
  if (name == "dq") return reference.dq;
  if (name == "dk") return reference.dk;
  if (name == "dv") return reference.dv;
  return name == "o" ? reference.o : reference.lse;
}

void run(Options& o, Context& context) {
  if (o.output) WholeFile{*o.output};  // a place that cannot be written is said before the work
  const RunInputs inputs = make_run(o);
  const Gradients gradients =
      run_recipe_backward(inputs.run, inputs.plan.problem, inputs.plan.tiles, inputs.plan.schedule,
                          inputs.tensors, o.run.control("backward"));
  o.run.done();
  if (o.output) write_safetensors(*o.output, saved_tensors(inputs, gradients), inputs.metadata(o));
  std::optional<Reference> reference;
  if (o.reference) {
    reference = fp64_reference(inputs.plan.problem, inputs.tensors, static_cast<double>(inputs.run.scale),
                               o.run.control("reference"));
    o.run.done();
  }
  nlohmann::ordered_json json{{"format", "dashlab.emulate/1"},
                              {"recipe", inputs.run.recipe},
                              {"profile", profile_name(inputs.dtype)},
                              {"schedule", inputs.plan.schedule.name},
                              {"mask", to_string(inputs.plan.problem.mask)}};
  if (inputs.run.recipe == "fa2-torch") json["schedule"] = "fa2-torch";
  for (const auto& [name, tensor] : computed_tensors(inputs, gradients)) {
    json["sha256"][name] = sha256(tensor.bytes());
    if (reference) {
      const ErrorNorms norms = error_norms(tensor, part_of(*reference, name));
      json["error"][name] = {{"max_abs", norms.max_abs}, {"relative_l2", norms.relative_l2}};
    }
  }
  context.exit_code = exit_done;
  if (o.json) {
    fmt::print("{}\n", json.dump(2));
    return;
  }
  for (const auto& [name, digest] : json["sha256"].items())
    fmt::print("{:<4}{}\n", name, digest.get<std::string>());
  if (!reference) return;
  for (const auto& [name, norms] : json["error"].items())
    fmt::print("{:<4}against fp64: largest error {:.3g}, relative L2 {:.3g}\n", name,
               norms["max_abs"].get<double>(), norms["relative_l2"].get<double>());
}

}  // namespace

void add_emulate(CLI::App& app, Context& context) {
  auto o = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("emulate", "Compute the backward pass on the CPU, bit for bit as the GPU does");
  o->add_to(*command, "dashlab.emulate/1");
  command->add_option("-o,--output", o->output, "write inputs and gradients to a safetensors file");
  command->add_flag("--reference", o->reference, "compare with double precision");
  command->footer(
      "Example: dashlab emulate --seqlen 512 --head-dim 64 --mask causal --schedule spt --seed 1");
  command->callback([o, &context] { run(*o, context); });
}

}  // namespace dashlab::cli
