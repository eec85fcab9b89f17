// `dashlab audit FILE`: is this gradient (or this output) what that kernel must give? The file's metadata are
// defaults for the flags.
#include "dashlab/emulator/audit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "dashlab/core/error.hpp"
#include "problem_flags.hpp"
#include "run_flags.hpp"

namespace dashlab::cli {

namespace {

struct Options {
  std::string file;
  std::optional<std::string> recipe, mask, scale;
  std::optional<std::int64_t> tile_q, tile_kv;
  ScheduleFlags schedule;
  RunFlags run;
  bool forward = false;
  bool json = false;
};

/// A flag's value, or the metadata of the same name.
std::optional<std::string> setting(const std::optional<std::string>& flag, const SafetensorsFile& file,
                                   const std::string& key) {
  return flag ? flag : file.metadata(key);
}

constexpr std::int64_t largest_tile = 1 << 20;

std::optional<std::int64_t> tile_setting(const std::optional<std::int64_t>& flag, const SafetensorsFile& file,
                                         const std::string& key, const std::string& flag_name) {
  if (flag) return parse_whole(fmt::to_string(*flag), flag_name, 1, largest_tile);
  const auto text = file.metadata(key);
  if (!text) return std::nullopt;
  return parse_whole(*text, fmt::format("{}: metadata '{}'", file.path(), key), 1, largest_tile);
}

/// The problem, recipe and schedule that flags, metadata and the recipe's own habits give.
AuditSetup make_setup(const Options& o, const SafetensorsFile& file, const Recording& recording) {
  AuditSetup setup;
  setup.run.recipe = setting(o.recipe, file, "recipe").value_or("fa3");
  check_recipe(setup.run.recipe);
  setup.judge_forward = o.forward;
  Problem& problem = setup.problem;
  problem = problem_of(recording.inputs);
  problem.mask = parse_mask(setting(o.mask, file, "mask").value_or("full"));
  const auto scale = setting(o.scale, file, "scale");
  const std::string scale_name = o.scale ? "--scale" : file.path() + ": metadata 'scale'";
  setup.run.scale = scale ? parse_scale(*scale, scale_name) : default_scale(problem.head_dim);
  ScheduleFlags schedule = o.schedule;
  schedule.schedule = setting(o.schedule.schedule, file, "schedule");
  if (!schedule.sms) {
    if (const auto sms = file.metadata("sms"))
      schedule.sms = static_cast<std::uint32_t>(
          parse_whole(*sms, fmt::format("{}: metadata 'sms'", file.path()), 1, 1 << 20));
  }
  setup.run.sms = schedule.sms_for(problem);
  const TileShape own = recipe_tiles(setup.run.recipe, recording.pass, problem);
  problem.tile_q = tile_setting(o.tile_q, file, "tile_q", "--tile-q").value_or(own.q);
  problem.tile_kv = tile_setting(o.tile_kv, file, "tile_kv", "--tile-kv").value_or(own.kv);
  check(problem);
  if (recording.pass == Pass::forward) {
    setup.forward_tiles = TileShape{problem.tile_q, problem.tile_kv};
  } else if (setup.run.recipe == "fa2-torch") {
    setup.schedule.name = "fa2-torch";
  } else {
    const TileMap tiles(problem);
    setup.schedule = schedule.make(problem, tiles, std::string(recipe_schedule(setup.run.recipe, problem)));
  }
  return setup;
}

nlohmann::ordered_json to_json(const Finding& finding) {
  nlohmann::ordered_json json{{"elements", finding.comparison.elements},
                              {"differ", finding.comparison.differ}};
  if (finding.first) {
    json["first"] = {{"index", finding.first->index},
                     {"tile", finding.first->tile},
                     {"recorded", finding.first->recorded},
                     {"computed", finding.first->computed}};
  }
  return json;
}

void print_json(const AuditSetup& setup, const Recording& recording, const AuditResult& result) {
  nlohmann::ordered_json json{{"format", "dashlab.audit/1"}, {"recipe", setup.run.recipe}};
  json["pass"] = recording.pass == Pass::forward ? "forward" : "backward";
  json["schedule"] = nullptr;
  if (!setup.schedule.name.empty()) json["schedule"] = setup.schedule.name;
  json["equal"] = result.equal();
  for (const Finding& finding : result.findings) json[finding.name] = to_json(finding);
  fmt::print("{}\n", json.dump(2));
}

void print_text(const AuditSetup& setup, const Recording& recording, const AuditResult& result) {
  std::string equal_names;
  std::int64_t equal_elements = 0;
  for (const Finding& finding : result.findings) {
    if (finding.comparison.differ != 0) continue;
    equal_names += (equal_names.empty() ? "" : " ") + finding.name;
    equal_elements += finding.comparison.elements;
  }
  fmt::print("recipe {}, {}{}, mask {}, scale {}\n", setup.run.recipe,
             recording.pass == Pass::forward ? "forward" : "backward",
             setup.schedule.name.empty() ? "" : fmt::format(", schedule {}", setup.schedule.name),
             to_string(setup.problem.mask), setup.run.scale);
  if (!equal_names.empty()) fmt::print("{}: {} elements, 0 differ\n", equal_names, equal_elements);
  for (const Finding& finding : result.findings) {
    if (!finding.first) continue;
    fmt::print("{}: {} elements, {} differ\n", finding.name, finding.comparison.elements,
               finding.comparison.differ);
    fmt::print("  first at {}[{}], {}: recorded {}, recipe gives {}\n", finding.name,
               fmt::join(finding.first->index, ", "), finding.first->tile, finding.first->recorded,
               finding.first->computed);
  }
}

void run(Options& o, Context& context) {
  const SafetensorsFile file(o.file);
  const Recording recording = read_recording(file);
  const AuditSetup setup = make_setup(o, file, recording);
  const AuditResult result = audit(recording, setup, o.run.control("audit"));
  o.run.done();
  if (o.json)
    print_json(setup, recording, result);
  else
    print_text(setup, recording, result);
  context.exit_code = result.equal() ? exit_done : exit_different;
}

}  // namespace

void add_audit(CLI::App& app, Context& context) {
  auto o = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("audit", "Check a recorded gradient or output bit by bit against a recipe");
  command->add_option("FILE", o->file, "safetensors: q k v do o lse dq dk dv, or q k v o lse")->required();
  command->add_option("--recipe", o->recipe, "fa3, fa2-torch or dashlab [metadata, else fa3]");
  command->add_option("--mask", o->mask, "mask [metadata, else full]");
  command->add_option("--scale", o->scale, "scale of the scores [metadata, else 1/sqrt(head dim)]");
  command->add_option("--tile-q", o->tile_q, "query rows of a tile [metadata, else the recipe's own]");
  command->add_option("--tile-kv", o->tile_kv, "key rows of a tile [metadata, else the recipe's own]");
  o->schedule.add_to(*command);
  command->add_flag("--forward", o->forward, "judge o and lse of a backward recording too");
  o->run.add_to(*command);
  command->add_flag("--json", o->json, "print dashlab.audit/1");
  command->footer("Example: dashlab audit tests/data/fa3/spt_causal_d64_s512.safetensors");
  command->callback([o, &context] { run(*o, context); });
}

}  // namespace dashlab::cli
