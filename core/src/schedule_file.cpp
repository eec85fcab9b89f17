// Writing schedule files, and the two ends of reading them. The strict reader itself is schedule_reader.cpp.
#include "dashlab/core/schedule_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "dashlab/core/problem_fields.hpp"
#include "dashlab/core/whole_file.hpp"

namespace dashlab {
namespace {

using Out = std::back_insert_iterator<std::string>;

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void write_problem(Out out, const Problem& problem) {
  const ProblemFields fields = fields_of(problem);
  fmt::format_to(out, "  \"problem\": {{\"mask\": {}", json_text(*fields.mask));
  for (const auto& [name, member] : problem_number_fields) {
    if (const auto& value = fields.*member) fmt::format_to(out, ", \"{}\": {}", name, *value);
  }
  fmt::format_to(out, "}},\n");
}

// A gathered chain as runs of steps of one q head.
void write_gathered_steps(Out out, const Schedule& s, std::size_t chain) {
  std::uint64_t begin = s.chain_begin[chain];
  const std::uint64_t end = s.chain_begin[chain + 1];
  const char* comma = "";
  while (begin < end) {
    std::uint64_t run = begin;
    while (run < end && s.step_head[run] == s.step_head[begin]) ++run;
    fmt::format_to(out, "{}{{\"head\": {}, \"q\": [{}]}}", comma, s.step_head[begin],
                   fmt::join(s.steps.begin() + static_cast<std::ptrdiff_t>(begin),
                             s.steps.begin() + static_cast<std::ptrdiff_t>(run), ", "));
    comma = ", ";
    begin = run;
  }
}

void write_chain(Out out, const Schedule& s, std::size_t chain) {
  const Chain& c = s.chains[chain];
  if (s.group_mode == GroupMode::gathered && !c.second_pass) {
    fmt::format_to(out, "{{\"kv_head\": {}, \"kv\": {}, \"steps\": [", c.head, c.tile);
    write_gathered_steps(out, s, chain);
    fmt::format_to(out, "]}}");
    return;
  }
  fmt::format_to(out, "{{\"head\": {}, \"{}\": {}, \"{}\": [{}]}}", c.head, c.second_pass ? "q" : "kv",
                 c.tile, c.second_pass ? "kv" : "q", fmt::join(s.chain_steps(chain), ", "));
}

void write_chains(Out out, const Schedule& s) {
  const bool dynamic = s.placement == Placement::dynamic;
  const std::size_t lists = dynamic ? 1 : s.sms;
  fmt::format_to(out, "  \"chains\": [");
  for (std::size_t list = 0; list < lists; ++list) {
    fmt::format_to(out, "{}\n    [", list == 0 ? "" : ",");
    const std::size_t begin = dynamic ? 0 : s.sm_begin[list];
    const std::size_t end = dynamic ? s.chains.size() : s.sm_begin[list + 1];
    for (std::size_t chain = begin; chain < end; ++chain) {
      if (chain > begin) fmt::format_to(out, ",\n     ");
      write_chain(out, s, chain);
    }
    fmt::format_to(out, "]");
  }
  fmt::format_to(out, "\n  ]");
}

void write_reduce(Out out, const Schedule& s, std::int64_t q_tiles) {
  fmt::format_to(out, ",\n  \"reduce\": [");
  const char* comma = "";
  for (std::size_t row = 0; row + 1 < s.row_begin.size(); ++row) {
    const auto order = s.reduce_order(row);
    if (order.empty()) continue;
    const auto per_head = static_cast<std::size_t>(q_tiles);
    fmt::format_to(out, "{}\n    {{\"head\": {}, \"q\": {}, \"kv\": [{}]}}", comma, row / per_head,
                   row % per_head, fmt::join(order, ", "));
    comma = ",";
  }
  fmt::format_to(out, "\n  ]");
}

void write_group_reduce(Out out, const Problem& problem, const Schedule& s) {
  const auto group = static_cast<std::size_t>(problem.group_size());
  const auto kv_tiles = static_cast<std::size_t>(problem.kv_tiles());
  fmt::format_to(out, ",\n  \"group_reduce\": [");
  for (std::size_t row = 0; row < s.group_order.size() / group; ++row) {
    const auto begin = s.group_order.begin() + static_cast<std::ptrdiff_t>(row * group);
    fmt::format_to(out, "{}\n    {{\"kv_head\": {}, \"kv\": {}, \"heads\": [{}]}}", row == 0 ? "" : ",",
                   row / kv_tiles, row % kv_tiles,
                   fmt::join(begin, begin + static_cast<std::ptrdiff_t>(group), ", "));
  }
  fmt::format_to(out, "\n  ]");
}

std::string_view dq_name(DqMode mode) {
  return mode == DqMode::ordered ? "ordered" : mode == DqMode::arrival ? "arrival" : "second-pass";
}

}  // namespace

std::string format_schedule(const Problem& problem, const Schedule& s) {
  std::string text;
  const Out out = std::back_inserter(text);
  fmt::format_to(out, "{{\n  \"format\": \"dashlab.schedule/1\",\n  \"name\": {},\n", json_text(s.name));
  write_problem(out, problem);
  fmt::format_to(out, "  \"sms\": {},\n  \"placement\": \"{}\",\n  \"dq\": \"{}\",\n", s.sms,
                 s.placement == Placement::dynamic ? "dynamic" : "static", dq_name(s.dq_mode));
  if (s.group_mode == GroupMode::gathered) fmt::format_to(out, "  \"group\": \"gathered\",\n");
  write_chains(out, s);
  if (s.dq_mode == DqMode::ordered) write_reduce(out, s, problem.q_tiles());
  if (!s.group_order.empty()) write_group_reduce(out, problem, s);
  text += "\n}\n";
  return text;
}

ScheduleFile read_schedule(const std::filesystem::path& path) {
  return parse_schedule(read_file(path), path.string());
}

void write_schedule(const std::filesystem::path& path, const Problem& problem, const Schedule& schedule) {
  write_file(path, format_schedule(problem, schedule));
}

}  // namespace dashlab
