// `dashlab gpu`: the backward pass on the GPU, with the outputs of `dashlab emulate`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "commands.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/core/whole_file.hpp"
#include "dashlab/gpu/device.hpp"
#include "dashlab/viz/explorer.hpp"
#include "dashlab/viz/perfetto.hpp"
#include "dashlab/viz/timeline_file.hpp"
#include "dashlab/viz/timeline_picture.hpp"
#include "gpu_flags.hpp"

namespace dashlab::cli {

namespace {

struct Options : ComputeFlags {
  LaunchFlags launch;
  std::optional<std::string> output, trace, record;
  std::int64_t repeat = 1;
};

/// A timeline file, a picture, a page or a Perfetto trace, as the file's name says.
void write_trace(const std::string& path, Timeline timeline, const RunInputs& inputs) {
  if (path.ends_with(".timeline.json")) {
    write_file(path, viz::format_timeline(timeline));
  } else if (path.ends_with(".json") || path.ends_with(".json.gz")) {
    const std::array<viz::TraceRun, 1> runs{viz::TraceRun{&timeline, timeline.title}};
    viz::write_perfetto(path, runs);
  } else if (path.ends_with(".html")) {
    const std::array<viz::ExplorerRun, 1> runs{viz::ExplorerRun{&timeline, timeline.title}};
    viz::write_explorer(path,
                        {timeline.title, runs, inputs.plan.tiles.q_tiles(), inputs.plan.tiles.kv_tiles(),
                         static_cast<std::uint32_t>(inputs.plan.problem.total_heads())});
  } else {
    viz::draw_timeline(timeline, {}).write(path);
  }
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
  return text.data();
}

/// The run as one case of a digest file: what tests/data/gpu holds, with the machine and the command.
std::string recorded(const Options& o, const RunInputs& inputs, const nlohmann::ordered_json& digests) {
  const gpu::DeviceInfo device = gpu::require_device();
  nlohmann::ordered_json one{{"profile", std::string(profile_name(inputs.dtype))},
                             {"mask", to_string(inputs.plan.problem.mask)}};
  const ProblemFields fields = fields_of(inputs.plan.problem);
  for (const auto& [name, member] : problem_number_fields)
    if (fields.*member) one[std::string(name)] = *(fields.*member);
  one["schedule"] = inputs.plan.schedule.name;
  one["group"] = o.schedule.group.value_or("per-head");
  one["sms"] = inputs.plan.schedule.sms;
  one["seed"] = o.input.seed.value_or(0);
  one["sha256"] = digests;
  const nlohmann::ordered_json file{
      {"format", "dashlab.digests/1"},
      {"device", device.name},
      {"driver", fmt::format("CUDA {}.{}", device.driver_version / 1000, device.driver_version % 1000 / 10)},
      {"date", today()},
      {"command", "dashlab gpu --record"},
      {"cases", {one}}};
  return file.dump(1) + "\n";
}

/// Whether the name has an ending that write_trace() gives to a file that is no picture.
bool is_page_or_trace(std::string_view path) {
  return path.ends_with(".json") || path.ends_with(".json.gz") || path.ends_with(".html");
}

/// What can be said before the work.
void check_flags(const Options& o) {
  if (o.record && o.input.input) throw BadInput("--record: digests are of seeded runs; leave --input out");
  if (o.record && o.schedule.is_file())
    throw BadInput("--record: name a schedule that everybody has, not a file");
  if (o.trace && !is_page_or_trace(*o.trace)) viz::picture_format(*o.trace);
  for (const auto& place : {o.output, o.trace, o.record})
    if (place) WholeFile{*place};
}

void run(Options& o, Context& context) {
  check_flags(o);
  const RunInputs inputs = make_gpu_run(o, o.launch);
  gpu::BackwardOptions options = o.launch.options(inputs);
  options.trace = o.trace.has_value();
  gpu::BackwardSession session(inputs.plan.problem, inputs.plan.tiles, inputs.plan.schedule, inputs.tensors,
                               options);
  session.run(o.launch.dirty);
  std::vector<double> times{session.milliseconds()};
  std::int64_t different = 0;
  const RunControl control = o.run.control("runs");
  if (o.repeat > 1) session.remember();
  for (std::int64_t i = 1; i < o.repeat; ++i) {
    session.run(o.launch.dirty);
    times.push_back(session.milliseconds());
    different += session.differing_words() != 0 ? 1 : 0;
    if (control.progress)
      control.progress(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(o.repeat));
    if (control.stop != nullptr && control.stop->load()) throw Interrupted();
  }
  o.run.done();
  const Gradients gradients = session.results();

  nlohmann::ordered_json json{{"format", "dashlab.gpu/1"},
                              {"recipe", inputs.run.recipe},
                              {"profile", profile_name(inputs.dtype)},
                              {"schedule", inputs.plan.schedule.name},
                              {"mask", to_string(inputs.plan.problem.mask)},
                              {"device", gpu::require_device().name}};
  for (const auto& [name, tensor] : computed_tensors(inputs, gradients))
    json["sha256"][name] = sha256(tensor.bytes());
  std::sort(times.begin(), times.end());
  json["milliseconds"] = {
      {"median", times[times.size() / 2]}, {"low", times.front()}, {"high", times.back()}};
  json["runs"] = o.repeat;
  json["different_runs"] = different;

  if (o.output) write_safetensors(*o.output, saved_tensors(inputs, gradients), inputs.metadata(o));
  if (o.record) write_file(*o.record, recorded(o, inputs, json["sha256"]));
  if (o.trace) write_trace(*o.trace, session.timeline(), inputs);
  context.exit_code = different == 0 ? exit_done : exit_different;
  if (o.json) {
    fmt::print("{}\n", json.dump(2));
    return;
  }
  for (const auto& [name, digest] : json["sha256"].items())
    fmt::print("{:<4}{}\n", name, digest.get<std::string>());
  fmt::print("{:.3f} ms ({:.3f} to {:.3f}) on {}\n", times[times.size() / 2], times.front(), times.back(),
             json["device"].get<std::string>());
  if (o.repeat > 1)
    fmt::print("{} runs, {}\n", o.repeat,
               different == 0 ? "every bit the same" : fmt::format("{} differ from the first", different));
}

}  // namespace

void add_gpu(CLI::App& app, Context& context) {
  auto o = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("gpu", "Compute the backward pass on the GPU, with the outputs of `emulate`");
  o->add_to(*command, "dashlab.gpu/1");
  o->launch.add_to(*command);
  command->add_option("--repeat", o->repeat, "run so often and compare every bit with the first run")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->capture_default_str();
  command->add_option("--trace", o->trace,
                      "write when every task ran: .timeline.json (for render --measured), .json (Perfetto), "
                      ".html, .svg, .png, .pdf");
  command->add_option("--record", o->record,
                      "write the digests with device, driver and date (dashlab.digests/1)");
  command->add_option("-o,--output", o->output, "write inputs and gradients to a safetensors file");
  command->footer(
      "Example: dashlab gpu --seqlen 4096 --heads 8 --mask causal --schedule spt --repeat 10 --perturb 1");
  command->callback([o, &context] {
    try {
      run(*o, context);
    } catch (const gpu::Stuck& stuck) {
      fmt::print(stderr, "dashlab: {}\n", stuck.what());
      context.exit_code = exit_different;
    }
  });
}

}  // namespace dashlab::cli
