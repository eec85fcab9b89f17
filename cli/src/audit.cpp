// `dashlab audit FILE`: is this gradient (or this output) what that kernel must give? The file's metadata are
// defaults for the flags.
#include "dashlab/emulator/audit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "audit_setup.hpp"
#include "commands.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/emulator/audit_search.hpp"
#include "flag_checks.hpp"
#include "run_flags.hpp"

namespace dashlab::cli {

namespace {

struct Options {
  std::string file;
  AuditFlags flags;
  RunFlags run;
  bool forward = false;
  bool json = false;
};

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

/// What decides the orders beside the schedule: the group and the arrival that flags or metadata name.
struct Orders {
  bool gathered = false;
  std::optional<std::string> arrival;
};

Orders orders_of(const AuditFlags& flags, const SafetensorsFile& file, const AuditSetup& setup,
                 const Recording& recording) {
  if (recording.pass == Pass::forward || setup.run.recipe == "fa2-torch") return {};
  return {setup.schedule.group_mode == GroupMode::gathered && setup.problem.group_size() > 1,
          arrival_setting(flags, file)};
}

nlohmann::ordered_json to_json(const AuditSetup& setup, const Orders& orders, const Recording& recording,
                               const AuditResult& result) {
  nlohmann::ordered_json json{{"format", "dashlab.audit/1"}, {"recipe", setup.run.recipe}};
  json["pass"] = recording.pass == Pass::forward ? "forward" : "backward";
  json["schedule"] = nullptr;
  if (!setup.schedule.name.empty()) json["schedule"] = setup.schedule.name;
  if (orders.gathered) json["group"] = "gathered";
  if (orders.arrival) json["arrival"] = *orders.arrival;
  json["equal"] = result.equal();
  for (const Finding& finding : result.findings) json[finding.name] = to_json(finding);
  return json;
}

void print_text(const AuditSetup& setup, const Orders& orders, const Recording& recording,
                const AuditResult& result) {
  std::string equal_names;
  std::int64_t equal_elements = 0;
  for (const Finding& finding : result.findings) {
    if (finding.comparison.differ != 0) continue;
    equal_names += (equal_names.empty() ? "" : " ") + finding.name;
    equal_elements += finding.comparison.elements;
  }
  fmt::print("recipe {}, {}{}{}{}, mask {}, scale {}\n", setup.run.recipe,
             recording.pass == Pass::forward ? "forward" : "backward",
             setup.schedule.name.empty() ? "" : fmt::format(", schedule {}", setup.schedule.name),
             orders.gathered ? ", group gathered" : "",
             orders.arrival ? fmt::format(", arrival {}", *orders.arrival) : "",
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

nlohmann::ordered_json to_json(const SearchResult& result) {
  nlohmann::ordered_json json{{"fits", result.verdict.equal()},
                              {"oddity", to_string(result.oddity)},
                              {"explanation", result.explanation},
                              {"candidates", nlohmann::ordered_json::array()}};
  if (!result.kv_order.empty()) json["kv_order"] = result.kv_order;
  constexpr std::size_t most = 10;
  for (const Candidate& c : result.candidates) {
    if (json["candidates"].size() == most) break;
    json["candidates"].push_back({{"recipe", c.run.recipe},
                                  {"schedule", c.schedule},
                                  {"mask", to_string(c.problem.mask)},
                                  {"tile_q", c.problem.tile_q},
                                  {"tile_kv", c.problem.tile_kv},
                                  {"scale", c.run.scale},
                                  {"fitting", c.fitting},
                                  {"compared", c.rows}});
  }
  return json;
}

bool is_auto(const std::optional<std::string>& flag) {
  return flag && *flag == "auto";
}

/// What the metadata name and no search tries.
std::string untried(const SafetensorsFile& file, const Recording& recording) {
  if (recording.pass == Pass::forward) return "";
  ScheduleFlags noted;
  noted.schedule = file.metadata("schedule");
  std::string names;
  if (noted.is_file() || !noted.is_known()) names += fmt::format(", schedule {}", *noted.schedule);
  if (file.metadata("group") == "gathered") names += ", group gathered";
  if (const auto arrival = file.metadata("arrival")) names += fmt::format(", arrival {}", *arrival);
  if (names.empty()) return "";
  return fmt::format(
      "the metadata name {}: a search tries only named schedules with chains per head; audit without auto{}",
      names.substr(2), noted.is_file() ? ", or with --schedule FILE" : "");
}

/// Searches what is `auto` and, with it, everything that neither flags nor metadata fix.
void run_search(Options& o, Context& context, const SafetensorsFile& file, const Recording& recording) {
  if (o.flags.schedule.is_file())
    throw BadInput("--schedule: a search tries named schedules; name the --recipe to check against a file");
  SearchSpace space;
  const bool any_recipe = is_auto(o.flags.recipe);
  const bool any_schedule = is_auto(o.flags.schedule.schedule);
  if (!any_recipe) {
    space.recipe = setting(o.flags.recipe, file, "recipe");
    if (space.recipe) {
      check_recipe(*space.recipe);
      refuse_choices(*space.recipe, {}, o.flags.tile_q, o.flags.tile_kv);
    }
  }
  if (!any_schedule) space.schedule = o.flags.schedule.schedule;
  if (const auto mask = setting(o.flags.mask, file, "mask")) space.mask = parse_mask(*mask);
  space.scale = scale_setting(o.flags, file);
  // Tile sizes in the metadata describe what made the file, but here they are in question unless a flag
  // insists.
  if (o.flags.tile_q) space.tile_q = tile_setting(o.flags.tile_q, file, "tile_q");
  if (o.flags.tile_kv) space.tile_kv = tile_setting(o.flags.tile_kv, file, "tile_kv");
  space.sms = sms_setting(o.flags, file);
  const SearchResult result = search(recording, space, o.run.control("search"));
  o.run.done();
  const AuditSetup& best = result.best;
  const std::string hint = result.verdict.equal() ? "" : untried(file, recording);
  if (o.json) {
    nlohmann::ordered_json json = to_json(best, {}, recording, result.verdict);
    json["search"] = to_json(result);
    if (!hint.empty()) json["search"]["hint"] = hint;
    fmt::print("{}\n", json.dump(2));
  } else {
    const std::string tiles = fmt::format("{} x {} tiles", result.candidates.front().problem.tile_q,
                                          result.candidates.front().problem.tile_kv);
    fmt::print("{} known combinations tried; {} {}, {}\n", result.candidates.size(),
               result.verdict.equal() ? "this one fits:" : "none fits; nearest:", best.run.recipe, tiles);
    print_text(best, {}, recording, result.verdict);
    if (!result.explanation.empty()) fmt::print("{}\n", result.explanation);
    if (!hint.empty()) fmt::print("{}\n", hint);
  }
  context.exit_code = result.verdict.equal() ? exit_done : exit_different;
}

void run(Options& o, const CLI::App& command, Context& context) {
  const SafetensorsFile file(o.file);
  const Recording recording = read_recording(file);
  if (recording.pass == Pass::forward && !is_auto(o.flags.schedule.schedule))
    refuse_given(command, {"--schedule", "--group"}, "a forward pass has no schedule");
  if (is_auto(o.flags.recipe) || is_auto(o.flags.schedule.schedule)) {
    refuse_given(command, {"--forward", "--group"}, "a search judges gradients of chains per head");
    run_search(o, context, file, recording);
    return;
  }
  AuditSetup setup = make_setup(o.flags, file, recording);
  setup.judge_forward = o.forward;
  const Orders orders = orders_of(o.flags, file, setup, recording);
  const AuditResult result = audit(recording, setup, o.run.control("audit"));
  o.run.done();
  if (o.json)
    fmt::print("{}\n", to_json(setup, orders, recording, result).dump(2));
  else
    print_text(setup, orders, recording, result);
  context.exit_code = result.equal() ? exit_done : exit_different;
}

}  // namespace

void add_audit(CLI::App& app, Context& context) {
  auto o = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("audit", "Check a recorded gradient or output bit by bit against a recipe");
  command->add_option("FILE", o->file, "safetensors: q k v do o lse dq dk dv, or q k v o lse")->required();
  o->flags.add_to(*command);
  command->add_flag("--forward", o->forward, "judge o and lse of a backward recording too");
  o->run.add_to(*command);
  command->add_flag("--json", o->json, "print dashlab.audit/1");
  command->footer(
      "--recipe auto and --schedule auto try all known ones and say what is odd if none fits.\n"
      "Example: dashlab audit tests/data/fa3/spt_causal_d64_s512.safetensors");
  command->callback([o, command, &context] { run(*o, *command, context); });
}

}  // namespace dashlab::cli
