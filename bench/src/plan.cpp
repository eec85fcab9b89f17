#include "dashlab/bench/plan.hpp"

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "dashlab/core/error.hpp"
#include "dashlab/core/simulate.hpp"
#include "dashlab/core/verify.hpp"

namespace dashlab::bench {
namespace {

constexpr std::uint32_t sms = 132;

Problem problem_of(std::int64_t heads) {
  Problem p;
  p.seqlen_q = p.seqlen_k = 16384;
  p.heads = p.kv_heads = heads;
  return p;
}

// The whole of planning: what a user waits for between the flags and the numbers.
void plan(const std::string& schedule, std::int64_t heads) {
  const Problem problem = problem_of(heads);
  const TileMap tiles(problem);
  const Schedule built = make_schedule(schedule, problem, tiles, {sms, GroupMode::per_head});
  if (!verify(problem, tiles, built).valid) throw std::logic_error("bench: " + schedule + " is not valid");
  if (simulate(problem, tiles, built, Costs{}).makespan == 0) throw std::logic_error("bench: nothing ran");
}

double million_tasks(std::int64_t heads) {
  return static_cast<double>(128 * 128 * heads) * 1e-6;
}

Contender contender(const std::string& schedule, std::int64_t heads) {
  return {fmt::format("plan {}, {:.1f} M tasks", schedule, million_tasks(heads)),
          "M tasks/s",
          million_tasks(heads),
          [=] { plan(schedule, heads); },
          [] {},
          Clock::thread};
}

Row in_seconds(const Rate& rate, double work) {
  return {{rate.name, "s", work / rate.median, work / rate.high, work / rate.low}, "", 0};
}

// A figure of /proc/self/status in bytes.
double status_bytes(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return 1024 * std::stod(line.substr(key.size() + 1));
  }
  throw EnvironmentError("bench --plan: /proc/self/status does not tell memory; it needs Linux");
}

// Peak resident memory of one plan above what the process held before, for each task.
Row memory_row(const std::string& schedule, std::int64_t heads) {
  const double before = status_bytes("VmRSS");
  std::ofstream("/proc/self/clear_refs") << 5;  // restarts the high-water mark
  plan(schedule, heads);
  const double bytes = (status_bytes("VmHWM") - before) / (million_tasks(heads) * 1e6);
  return {{fmt::format("peak memory of {}, {:.1f} M tasks", schedule, million_tasks(heads)), "bytes/task",
           bytes, bytes, bytes},
          "",
          0};
}

}  // namespace

std::vector<Row> plan_rows() {
  constexpr std::int64_t heads = 256;
  const std::vector<std::string> schedules{"ascending", "descending", "spt", "shift"};
  std::vector<Row> rows;
  for (const std::int64_t many : {heads, 10 * heads}) rows.push_back(memory_row("shift", many));
  std::vector<Contender> contenders;
  for (const auto& schedule : schedules) contenders.push_back(contender(schedule, heads));
  const Contender tenfold = contender("ascending", 10 * heads);
  contenders.push_back(tenfold);
  const Comparison measured(contenders, 5, 0);
  for (const auto& c : contenders) rows.push_back(in_seconds(measured.rate(c.name), c.work));
  rows.push_back(measured.row(tenfold.name, contenders.front().name));  // a ratio near 1: linear
  return rows;
}

}  // namespace dashlab::bench
