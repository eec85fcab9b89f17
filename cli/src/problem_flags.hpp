// The flags that describe a problem, a schedule and costs, the same for every command that takes them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "dashlab/core/costs.hpp"
#include "dashlab/core/problem_fields.hpp"
#include "dashlab/core/schedule.hpp"

namespace dashlab::cli {

/// --mask and the number fields of ProblemFields. Values not given stay unset, so that a file can supply
/// them.
struct ProblemFlags : ProblemFields {
  void add_to(CLI::App& command);
  /// Whether any of them was given.
  [[nodiscard]] bool given() const;
};

/// A schedule with the problem and the tiles it is for.
struct PlannedSchedule {
  Problem problem;
  TileMap tiles;
  Schedule schedule;
  bool from_file = false;
};

/// --schedule NAME|FILE --sms N --group per-head|gathered.
struct ScheduleFlags {
  std::optional<std::string> schedule;
  std::optional<std::uint32_t> sms;
  std::string group = "per-head";

  void add_to(CLI::App& command);
  /// --sms and --group alone, for commands that choose the schedule themselves.
  void add_machine_to(CLI::App& command);
  /// --sms, or its default: the kv tiles for a problem in tiles, else 132.
  [[nodiscard]] std::uint32_t sms_for(const Problem& problem) const;
  [[nodiscard]] ScheduleOptions options(const Problem& problem) const;
  /// Whether --schedule names a file.
  [[nodiscard]] bool is_file() const;
  /// Builds the named schedule (`fallback` when none is named) or reads the file. A file brings its own
  /// problem; problem flags that contradict it are refused.
  [[nodiscard]] PlannedSchedule make(const ProblemFlags& problem, const std::string& fallback) const;
  /// The same for a problem that is known already; a file must be for that problem.
  [[nodiscard]] Schedule make(const Problem& problem, const TileMap& tiles,
                              const std::string& fallback) const;
};

/// --compute --compute-partial --reduce --chain --link --model serial|overlapped:D --jitter SIGMA:SEED.
struct CostFlags {
  std::string compute = "1", reduce = "0.25", chain = "0", link = "0", model = "serial";
  std::optional<std::string> compute_partial, jitter;

  void add_to(CLI::App& command);
  [[nodiscard]] Costs costs() const;
};

}  // namespace dashlab::cli
