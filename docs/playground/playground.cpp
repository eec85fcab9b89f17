// The playground's only function: a problem and schedules as JSON in, the explorer's page as JSON out. Core
// and the explorer, compiled to WebAssembly by build.sh; the page around it is index.html.
#include <emscripten/emscripten.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dashlab/core/bounds.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/core/simulate.hpp"
#include "dashlab/core/verify.hpp"
#include "dashlab/viz/explorer.hpp"
#include "dashlab/viz/scale.hpp"

namespace {

using namespace dashlab;
using Json = nlohmann::ordered_json;

constexpr std::int64_t most_tasks =
    300'000;  // of all schedules together: what a page walks through with ease

std::int64_t number(const Json& in, const char* key, std::int64_t least, std::int64_t most) {
  const Json value = in.value(key, Json());
  if (!value.is_number_integer() || value < least || value > most)
    throw BadInput(std::string(key) + ": a whole number from " + std::to_string(least) + " to " +
                   std::to_string(most));
  return value.get<std::int64_t>();
}

Costs costs_of(const Json& in) {
  Costs costs;
  costs.reduce = parse_rational(in.value("reduce", "0.25"), "reduce");
  costs.link = parse_rational(in.value("link", "0"), "link");
  costs.overlap_depth = static_cast<int>(number(in, "depth", 0, 100));
  return costs;
}

Json explore(const Json& in) {
  const Problem problem = tile_problem(number(in, "q tiles", 1, 2000), number(in, "kv tiles", 1, 2000),
                                       number(in, "heads", 1, 2000), parse_mask(in.value("mask", "causal")));
  check(problem);
  const TileMap tiles(problem);
  const Costs costs = costs_of(in);
  const auto sms = static_cast<std::uint32_t>(number(in, "SMs", 1, 1000));
  const Json wanted = in.value("schedules", Json::array());
  const auto tasks = static_cast<std::int64_t>(tiles.tasks_per_head()) * problem.total_heads() *
                     static_cast<std::int64_t>(wanted.size());
  if (tasks > most_tasks)
    throw BadInput(std::to_string(tasks) +
                   " tasks are more than this page walks through; take fewer tiles or heads");
  Json out;
  out["leftOut"] = Json::array();
  std::vector<Timeline> timelines;
  timelines.reserve(wanted.size());
  for (const Json& name : wanted) {
    try {
      const Schedule schedule = make_schedule(name.get<std::string>(), problem, tiles, {sms});
      Timeline& timeline = timelines.emplace_back();
      simulate(problem, tiles, schedule, costs, &timeline);
      timeline.title = schedule.name;
      viz::set_lower_bound(
          timeline, lower_bounds(problem, tiles, sms, costs, {schedule.group_mode, schedule.dq_mode}).best());
    } catch (const BadInput& error) {
      if (timelines.size() > 0 && timelines.back().title.empty()) timelines.pop_back();
      out["leftOut"].push_back({{"name", name}, {"reason", error.what()}});
    }
  }
  if (timelines.empty()) throw BadInput("no schedule is chosen that fits this problem");
  std::vector<viz::ExplorerRun> runs;
  for (const Timeline& timeline : timelines) runs.push_back({&timeline, ""});
  viz::ExplorerInput input;
  input.title = to_string(problem.mask) + ", " + std::to_string(problem.q_tiles()) + " × " +
                std::to_string(problem.kv_tiles()) + " tiles, " + std::to_string(problem.total_heads()) +
                (problem.total_heads() == 1 ? " head, " : " heads, ") + std::to_string(sms) + " SMs";
  input.runs = runs;
  input.q_tiles = tiles.q_tiles(), input.kv_tiles = tiles.kv_tiles();
  input.heads = static_cast<std::uint32_t>(problem.total_heads());
  out["html"] = viz::explorer_html(input);
  return out;
}

}  // namespace

extern "C" {

/// The names that "schedules" may hold, as a JSON list.
EMSCRIPTEN_KEEPALIVE const char* dashlab_schedules() {
  static std::string out;
  Json names = Json::array();
  for (const std::string_view name : schedule_names()) names.push_back(name);
  out = names.dump();
  return out.c_str();
}

/// Takes {mask, "q tiles", "kv tiles", heads, SMs, reduce, link, depth, schedules}; gives {html, leftOut} or
/// {error}.
EMSCRIPTEN_KEEPALIVE const char* dashlab_explore(const char* request) {
  static std::string out;
  try {
    out = explore(Json::parse(request)).dump();
  } catch (const std::exception& error) {
    out = Json{{"error", error.what()}}.dump();
  }
  return out.c_str();
}

}  // extern "C"
