#include "plan_report.hpp"

#include <fmt/format.h>

#include "dashlab/core/error.hpp"

namespace dashlab::cli {
namespace {

nlohmann::ordered_json critical_path(const Timeline& timeline) {
  auto path = nlohmann::ordered_json::array();
  const auto units = [&](std::int64_t ticks) {
    return static_cast<double>(ticks) / static_cast<double>(timeline.ticks_per_unit);
  };
  for (const CriticalStep& step : timeline.critical_path) {
    const TaskSpan& task = timeline.tasks[step.task];
    const bool compute = step.phase == Phase::compute;
    path.push_back({{"head", index(task.head)},
                    {"q", index(task.q)},
                    {"kv", index(task.kv)},
                    {"phase", compute ? "compute" : "reduce"},
                    {"start", units(compute ? task.compute_start : task.reduce_start)},
                    {"end", units(compute ? task.compute_end : task.reduce_end)}});
  }
  return path;
}

}  // namespace

PlanReport report(const PlannedSchedule& planned, const Costs& costs, std::uint32_t resident) {
  const auto& [problem, tiles, schedule, from_file] = planned;
  PlanReport r;
  r.verification = verify(problem, tiles, schedule, std::uint64_t{schedule.sms} * resident);
  if (!r.verification.valid) return r;
  r.alignment = alignment(problem, tiles, schedule, costs);
  r.simulation = simulate(problem, tiles, schedule, costs, &r.timeline, resident);
  Costs engine = costs;
  if (resident > 1) engine.overlap_depth = 1;  // only compute phases share an SM's engine
  r.bounds = lower_bounds(problem, tiles, schedule.sms, engine, {schedule.group_mode, schedule.dq_mode});
  const Rational bound = r.bounds.best() * Rational(r.timeline.ticks_per_unit);
  r.timeline.lower_bound = bound.num() / bound.den();
  if (resident == 1 && !from_file) r.closed = closed_form(schedule.name, problem, schedule.sms, costs);
  return r;
}

nlohmann::ordered_json to_json(const PlannedSchedule& planned, const PlanReport& r) {
  const Problem& problem = planned.problem;
  const Schedule& schedule = planned.schedule;
  const Simulation& sim = r.simulation;
  const auto units = [&](std::int64_t ticks) {
    return static_cast<double>(ticks) / static_cast<double>(sim.ticks_per_unit);
  };
  nlohmann::ordered_json json;
  json["format"] = "dashlab.plan/1";
  json["schedule"] = schedule.name;
  json["mask"] = to_string(problem.mask);
  json["tasks"] = schedule.steps.size();
  json["chains"] = schedule.chains.size();
  json["sms"] = schedule.sms;
  json["makespan"] = units(sim.makespan);
  json["lower_bound"] = r.bounds.best().value();
  json["lower_bound_exact"] = r.bounds.packing_exact();
  json["closed_form"] = r.closed ? nlohmann::ordered_json(r.closed->makespan.value()) : nullptr;
  json["work"] = units(sim.work);
  json["utilisation"] = sim.utilisation();
  json["bubble_fraction"] = 1 - sim.utilisation();
  json["reduce_wait"] = units(sim.reduce_wait);
  json["startup"] = units(sim.startup);
  json["tail"] = units(sim.tail);
  json["conflict_free"] = r.alignment.conflict_free;
  json["deadlock_free"] = r.verification.deadlock_free;
  json["lemma1"] = r.alignment.lemma1;
  json["critical_path"] = critical_path(r.timeline);
  return json;
}

std::string describe(const Problem& problem, std::uint32_t sms) {
  const auto plural = [](std::int64_t n, std::string_view noun) {
    return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
  };
  std::string text =
      fmt::format("{}, {} x {} tiles", to_string(problem.mask), problem.q_tiles(), problem.kv_tiles());
  if (!problem.in_tiles) {
    text += fmt::format(" ({} x {} tokens)", problem.seqlen_q, problem.seqlen_k);
  }
  if (problem.batch > 1) text += fmt::format(", batch {}", problem.batch);
  text += ", " + plural(problem.heads, "head");
  if (problem.group_size() > 1) text += fmt::format(" over {}", plural(problem.kv_heads, "kv head"));
  return text + ", " + plural(sms, "SM");
}

}  // namespace dashlab::cli
