// The flags that describe a problem, a schedule and costs, the same for every command that takes them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "dashlab/core/costs.hpp"
#include "dashlab/core/problem_fields.hpp"
#include "dashlab/core/schedule.hpp"
#include "dashlab/core/schedule_file.hpp"

namespace dashlab::cli {

/// --mask and the number fields of ProblemFields. Values not given stay unset, so that a file can supply
/// them.
struct ProblemFlags : ProblemFields {
  void add_to(CLI::App& command);
  /// Whether any of them was given.
  [[nodiscard]] bool given() const;
  /// Throws BadInput for a length, a tile size or a count that is not what `source`, e.g. a file, says. Tile
  /// sizes are free where it says none.
  void require_sizes(const ProblemFields& said, const std::string& source) const;
};

/// fields_of() with every size, also those of their default value.
ProblemFields sizes_of(const Problem& problem);

/// A schedule with the problem and the tiles it is for.
struct PlannedSchedule {
  Problem problem;
  TileMap tiles;
  Schedule schedule;
  bool from_file = false;
};

/// --schedule NAME|FILE --sms N --group per-head|gathered.
struct ScheduleFlags {
  std::optional<std::string> schedule, group;
  std::optional<std::uint32_t> sms;

  void add_to(CLI::App& command);
  /// Without --schedule, for commands that take all of them or make their own.
  void add_unnamed_to(CLI::App& command);
  /// --sms, or its default: the kv tiles for a problem in tiles, else 132.
  [[nodiscard]] std::uint32_t sms_for(const Problem& problem) const;
  [[nodiscard]] ScheduleOptions options(const Problem& problem) const;
  /// Whether --schedule names a file: no name of a schedule has a '.' or '/' in it.
  [[nodiscard]] bool is_file() const;
  /// Whether --schedule is absent, a file (there or not) or the name of a schedule.
  [[nodiscard]] bool is_known() const;
  /// Throws BadInput unless is_known().
  void check_name() const;
  /// Builds the named schedule (`fallback` when none is named) or reads the file. A file brings its own
  /// problem, SMs and group; flags that contradict it are refused.
  [[nodiscard]] PlannedSchedule make(const ProblemFlags& problem, const std::string& fallback) const;
  /// The same for a problem that is known already; a file must be for that problem.
  [[nodiscard]] Schedule make(const Problem& problem, const TileMap& tiles,
                              const std::string& fallback) const;

 private:
  [[nodiscard]] ScheduleFile read() const;
};

/// Throws BadInput for a flag that chooses what recipe fa2-torch decides itself.
void refuse_choices(std::string_view recipe, const ScheduleFlags& schedule,
                    const std::optional<std::int64_t>& tile_q, const std::optional<std::int64_t>& tile_kv);

/// --compute --compute-partial --reduce --chain --link --model serial|overlapped:D --jitter SIGMA:SEED.
struct CostFlags {
  std::string compute = "1", reduce = "0.25", chain = "0", link = "0", model = "serial";
  std::optional<std::string> compute_partial, jitter;

  void add_to(CLI::App& command);
  [[nodiscard]] Costs costs() const;
};

/// What every command that plans takes.
struct PlanFlags {
  ProblemFlags problem;
  ScheduleFlags schedule;
  CostFlags costs;

  void add_to(CLI::App& command);
};

}  // namespace dashlab::cli
