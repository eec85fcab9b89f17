#include "problem_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "dashlab/core/error.hpp"

namespace dashlab::cli {
namespace {

constexpr const char* problem_group = "Problem";
constexpr const char* schedule_group = "Schedule";
constexpr const char* cost_group = "Costs";

std::string_view help_of(std::string_view field) {
  if (field == "tiles") return "q and kv tiles of a problem measured in tiles";
  if (field == "q-tiles") return "q tiles (problem in tiles)";
  if (field == "kv-tiles") return "kv tiles (problem in tiles)";
  if (field == "seqlen") return "queries and keys in tokens";
  if (field == "seqlen-q") return "queries in tokens";
  if (field == "seqlen-k") return "keys in tokens";
  if (field == "tile-q") return "query rows of a tile [128]";
  if (field == "tile-kv") return "key rows of a tile [128]";
  if (field == "batch") return "batch entries [1]";
  if (field == "heads") return "query heads of a batch entry [1]";
  if (field == "kv-heads") return "key/value heads: fewer than --heads for grouped-query attention [--heads]";
  return "columns of q, k and v [128]";
}

template <typename Number>
Number parse_number(std::string_view text, std::string_view what) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw BadInput(fmt::format("{}: '{}' is no number", what, text));
  }
  return value;
}

Jitter parse_jitter(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) {
    throw BadInput(fmt::format("--jitter '{}': write SIGMA:SEED, for example 0.1:7", text));
  }
  Jitter jitter;
  jitter.sigma = parse_rational(text.substr(0, colon), "--jitter").value();
  jitter.seed = parse_number<std::uint64_t>(std::string_view(text).substr(colon + 1), "--jitter");
  if (jitter.sigma < 0 || jitter.sigma > 2) throw BadInput("--jitter: sigma must lie in 0..2");
  return jitter;
}

std::string both_sides(const std::optional<std::int64_t>& q, const std::optional<std::int64_t>& k) {
  if (!q) return "";
  return q == k ? fmt::to_string(*q) : fmt::format("{} x {}", *q, *k);
}

}  // namespace

ProblemFields sizes_of(const Problem& problem) {
  ProblemFields fields = fields_of(problem);
  fields.batch = problem.batch, fields.kv_heads = problem.kv_heads, fields.head_dim = problem.head_dim;
  return fields;
}

void ProblemFlags::add_to(CLI::App& command) {
  command
      .add_option("--mask", mask,
                  "full, causal, window:L,R, documents:LEN,LEN,... (LENf: not causal) or blocks:FILE")
      ->group(problem_group);
  for (const auto& [name, member] : problem_number_fields) {
    command.add_option(fmt::format("--{}", name), this->*member, std::string(help_of(name)))
        ->group(problem_group);
  }
}

bool ProblemFlags::given() const {
  return mask || std::ranges::any_of(problem_number_fields,
                                     [&](const auto& field) { return (this->*field.second).has_value(); });
}

void ProblemFlags::require_sizes(const ProblemFields& said, const std::string& source) const {
  for (const auto& [name, member] : problem_number_fields) {
    const auto& flag = this->*member;
    if (!flag) continue;
    const std::string value = name == "tiles"    ? both_sides(said.q_tiles, said.kv_tiles)
                              : name == "seqlen" ? both_sides(said.seqlen_q, said.seqlen_k)
                                                 : both_sides(said.*member, said.*member);
    const bool tile_size = member == &ProblemFields::tile_q || member == &ProblemFields::tile_kv;
    if (value == fmt::to_string(*flag) || (value.empty() && tile_size && said.seqlen_q)) continue;
    throw BadInput(fmt::format(
        "--{} {}: {}; leave the flag out", name, *flag,
        value.empty() ? fmt::format("{} is measured in {}", source, said.seqlen_q ? "tokens" : "tiles")
                      : fmt::format("it is {} in {}", value, source)));
  }
}

void ScheduleFlags::add_to(CLI::App& command) {
  command
      .add_option("--schedule", schedule,
                  fmt::format("{} or FILE, a name with '.' or '/' in it", fmt::join(schedule_names(), ", ")))
      ->group(schedule_group);
  add_unnamed_to(command);
}

void ScheduleFlags::add_unnamed_to(CLI::App& command) {
  command.add_option("--sms", sms, "SMs [the kv tiles of a problem in tiles, else 132]")
      ->group(schedule_group);
  command
      .add_option(
          "--group", group,
          "chains of grouped-query heads: one per q head, whose dK and dV add up in order, or one gathered "
          "[per-head]")
      ->check(CLI::IsMember({"per-head", "gathered"}))
      ->group(schedule_group);
}

std::uint32_t ScheduleFlags::sms_for(const Problem& problem) const {
  constexpr std::uint32_t most = 1 << 20;
  if (sms && (*sms == 0 || *sms > most))
    throw BadInput(fmt::format("--sms {}: must lie in 1..{}", *sms, most));
  if (sms) return *sms;
  constexpr std::uint32_t sms_of_an_h200 = 132;
  if (!problem.in_tiles) return sms_of_an_h200;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(problem.kv_tiles(), 1, most));
}

ScheduleOptions ScheduleFlags::options(const Problem& problem) const {
  return {sms_for(problem), group == "gathered" ? GroupMode::gathered : GroupMode::per_head};
}

bool ScheduleFlags::is_file() const {
  return schedule && schedule->find_first_of("./") != std::string::npos;
}

bool ScheduleFlags::is_known() const {
  return !schedule || is_file() || std::ranges::find(schedule_names(), *schedule) != schedule_names().end();
}

void ScheduleFlags::check_name() const {
  if (!is_known())
    throw BadInput(fmt::format("--schedule '{}': unknown; use {}, or a schedule file (write ./{} for a file)",
                               *schedule, fmt::join(schedule_names(), ", "), *schedule));
}

ScheduleFile ScheduleFlags::read() const {
  ScheduleFile file = read_schedule(*schedule);
  const auto contradict = [&](std::string_view flag, const auto& value, const auto& other) {
    throw BadInput(fmt::format("--{} {}: it is {} in {}; leave the flag out", flag, value, other, *schedule));
  };
  if (sms && *sms != file.schedule.sms) contradict("sms", *sms, file.schedule.sms);
  const std::string_view its_group =
      file.schedule.group_mode == GroupMode::gathered ? "gathered" : "per-head";
  if (group && *group != its_group) contradict("group", *group, its_group);
  return file;
}

PlannedSchedule ScheduleFlags::make(const ProblemFlags& flags, const std::string& fallback) const {
  if (is_file()) {
    ScheduleFile file = read();
    flags.require_sizes(sizes_of(file.problem), *schedule);
    if (flags.mask && parse_mask(*flags.mask) != file.problem.mask) {
      throw BadInput(fmt::format("--mask {}: it is {} in {}; leave the flag out", *flags.mask,
                                 to_string(file.problem.mask), *schedule));
    }
    TileMap tiles(file.problem);
    return {std::move(file.problem), std::move(tiles), std::move(file.schedule), true};
  }
  check_name();
  Problem problem = make_problem(flags);
  TileMap tiles(problem);
  Schedule made = make_schedule(schedule.value_or(fallback), problem, tiles, options(problem));
  return {std::move(problem), std::move(tiles), std::move(made)};
}

Schedule ScheduleFlags::make(const Problem& problem, const TileMap& tiles,
                             const std::string& fallback) const {
  check_name();
  if (!is_file()) return make_schedule(schedule.value_or(fallback), problem, tiles, options(problem));
  ScheduleFile file = read();
  if (file.problem != problem) {
    throw BadInput(fmt::format("{}: is a schedule for another problem (mask {}, {} x {} tiles)", *schedule,
                               to_string(file.problem.mask), file.problem.q_tiles(),
                               file.problem.kv_tiles()));
  }
  return std::move(file.schedule);
}

void refuse_choices(std::string_view recipe, const ScheduleFlags& schedule,
                    const std::optional<std::int64_t>& tile_q, const std::optional<std::int64_t>& tile_kv) {
  if (recipe != "fa2-torch") return;
  for (const auto& [flag, given] :
       {std::pair("--schedule", schedule.schedule.has_value()),
        std::pair("--group", schedule.group.has_value()), std::pair("--tile-q", tile_q.has_value()),
        std::pair("--tile-kv", tile_kv.has_value())})
    if (given)
      throw BadInput(
          fmt::format("{}: recipe fa2-torch has a schedule and tiles of its own; leave the flag out", flag));
}

void CostFlags::add_to(CLI::App& command) {
  command.add_option("--compute", compute, "cost c of the compute phase of a full tile")
      ->capture_default_str()
      ->group(cost_group);
  command.add_option("--compute-partial", compute_partial, "the same for a partial tile [--compute]")
      ->group(cost_group);
  command.add_option("--reduce", reduce, "cost r of the reduce phase")
      ->capture_default_str()
      ->group(cost_group);
  command.add_option("--chain", chain, "cost of starting and ending a chain, in its first compute phase")
      ->capture_default_str()
      ->group(cost_group);
  command.add_option("--link", link, "latency of handing a row to another SM")
      ->capture_default_str()
      ->group(cost_group);
  command.add_option("--model", model, "serial, or overlapped:D (compute k waits for reduce k-1-D)")
      ->capture_default_str()
      ->group(cost_group);
  command.add_option("--jitter", jitter, "SIGMA:SEED: every phase times exp(SIGMA * N(0,1))")
      ->group(cost_group);
}

Costs CostFlags::costs() const {
  Costs costs;
  costs.compute = parse_rational(compute, "--compute");
  if (compute_partial) costs.compute_partial = parse_rational(*compute_partial, "--compute-partial");
  costs.reduce = parse_rational(reduce, "--reduce");
  costs.chain = parse_rational(chain, "--chain");
  costs.link = parse_rational(link, "--link");
  constexpr std::string_view overlapped = "overlapped:";
  if (model.starts_with(overlapped)) {
    costs.overlap_depth = parse_number<int>(std::string_view(model).substr(overlapped.size()), "--model");
    constexpr int deepest = 1000;
    if (costs.overlap_depth < 0 || costs.overlap_depth > deepest) {
      throw BadInput(fmt::format("--model {}: the depth must lie in 0..{}", model, deepest));
    }
  } else if (model != "serial") {
    throw BadInput(fmt::format("--model '{}': use serial or overlapped:D", model));
  }
  if (jitter) costs.jitter = parse_jitter(*jitter);
  return costs;
}

void PlanFlags::add_to(CLI::App& command) {
  problem.add_to(command);
  schedule.add_to(command);
  costs.add_to(command);
}

}  // namespace dashlab::cli
