#include "audit_setup.hpp"

#include <fmt/format.h>

#include "dashlab/core/error.hpp"
#include "dashlab/emulator/arrival.hpp"
#include "run_flags.hpp"

namespace dashlab::cli {

void AuditFlags::add_to(CLI::App& command) {
  command.add_option("--recipe", recipe, "fa3, fa2-torch, dashlab or auto [metadata, else fa3]");
  command.add_option("--mask", mask, "mask [metadata, else full]");
  command.add_option("--scale", scale, "scale of the scores [metadata, else 1/sqrt(head dim)]");
  command.add_option("--tile-q", tile_q, "query rows of a tile [metadata, else the recipe's own]");
  command.add_option("--tile-kv", tile_kv, "key rows of a tile [metadata, else the recipe's own]");
  schedule.add_to(command);
}

std::optional<std::string> setting(const std::optional<std::string>& flag, const SafetensorsFile& file,
                                   const std::string& key) {
  return flag ? flag : file.metadata(key);
}

std::optional<float> scale_setting(const AuditFlags& flags, const SafetensorsFile& file) {
  const auto scale = setting(flags.scale, file, "scale");
  if (!scale) return std::nullopt;
  return parse_scale(*scale, flags.scale ? "--scale" : file.path() + ": metadata 'scale'");
}

std::optional<std::int64_t> tile_setting(const std::optional<std::int64_t>& flag, const SafetensorsFile& file,
                                         const std::string& key) {
  constexpr std::int64_t largest = 1 << 20;
  if (flag)
    return parse_whole(fmt::to_string(*flag), "--" + key.substr(0, 4) + "-" + key.substr(5), 1, largest);
  const auto text = file.metadata(key);
  if (!text) return std::nullopt;
  return parse_whole(*text, fmt::format("{}: metadata '{}'", file.path(), key), 1, largest);
}

std::uint32_t sms_setting(const AuditFlags& flags, const SafetensorsFile& file) {
  ScheduleFlags schedule = flags.schedule;
  if (!schedule.sms) {
    if (const auto sms = file.metadata("sms"))
      schedule.sms = static_cast<std::uint32_t>(
          parse_whole(*sms, fmt::format("{}: metadata 'sms'", file.path()), 1, 1 << 20));
  }
  return schedule.sms_for(Problem{});
}

std::optional<std::string> arrival_setting(const AuditFlags& flags, const SafetensorsFile& file) {
  return flags.schedule.schedule ? std::nullopt : file.metadata("arrival");
}

namespace {

std::string group_of(const SafetensorsFile& file) {
  const std::string group = file.metadata("group").value_or("per-head");
  if (group != "per-head" && group != "gathered")
    throw BadInput(
        fmt::format("{}: metadata 'group' '{}': use per-head or gathered", file.path(), group.substr(0, 40)));
  return group;
}

/// The schedule that flags or metadata name. A file says its SMs and its group itself.
Schedule named_schedule(const AuditFlags& flags, const SafetensorsFile& file, const AuditSetup& setup,
                        const std::string& fallback) {
  ScheduleFlags schedule = flags.schedule;
  schedule.schedule = setting(flags.schedule.schedule, file, "schedule");
  const bool from_metadata = schedule.schedule && !flags.schedule.schedule;
  if (from_metadata && !schedule.is_known())
    throw BadInput(fmt::format(
        "{}: metadata 'schedule' '{}' is no known schedule and no file; give --schedule NAME or FILE",
        file.path(), schedule.schedule->substr(0, 40)));
  const TileMap tiles(setup.problem);
  if (!schedule.is_file()) {
    schedule.sms = setup.run.sms;
    if (!schedule.group) schedule.group = group_of(file);
    return schedule.make(setup.problem, tiles, fallback);
  }
  try {
    Schedule made = schedule.make(setup.problem, tiles, fallback);
    made.name = *schedule.schedule;
    return made;
  } catch (const BadInput& reason) {
    if (!from_metadata) throw;
    throw BadInput(
        fmt::format("{}: the metadata name a schedule file; give its place with --schedule FILE: {}",
                    file.path(), reason.what()));
  }
}

}  // namespace

AuditSetup make_setup(const AuditFlags& flags, const SafetensorsFile& file, const Recording& recording) {
  AuditSetup setup;
  setup.run.recipe = setting(flags.recipe, file, "recipe").value_or("fa3");
  check_recipe(setup.run.recipe);
  refuse_choices(setup.run.recipe, flags.schedule, flags.tile_q, flags.tile_kv);
  Problem& problem = setup.problem;
  problem = problem_of(recording.inputs);
  problem.mask = parse_mask(setting(flags.mask, file, "mask").value_or("full"));
  setup.run.scale = scale_setting(flags, file).value_or(default_scale(problem.head_dim));
  setup.run.sms = sms_setting(flags, file);
  const TileShape own = recipe_tiles(setup.run.recipe, recording.pass, problem);
  problem.tile_q = tile_setting(flags.tile_q, file, "tile_q").value_or(own.q);
  problem.tile_kv = tile_setting(flags.tile_kv, file, "tile_kv").value_or(own.kv);
  check(problem);
  if (recording.pass == Pass::forward) {
    setup.forward_tiles = TileShape{problem.tile_q, problem.tile_kv};
  } else if (setup.run.recipe == "fa2-torch") {
    setup.schedule.name = "fa2-torch";
  } else {
    setup.schedule =
        named_schedule(flags, file, setup, std::string(recipe_schedule(setup.run.recipe, problem)));
    if (const auto arrival = arrival_setting(flags, file))
      setup.schedule = arrival_order(problem, setup.schedule, parse_arrival(*arrival));
  }
  return setup;
}

}  // namespace dashlab::cli
