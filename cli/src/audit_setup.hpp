// What a recording is held against: flags first, then the file's metadata, then the recipe's own habits.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "dashlab/emulator/audit.hpp"
#include "problem_flags.hpp"

namespace dashlab::cli {

/// --recipe --mask --scale --tile-q --tile-kv and the schedule flags.
struct AuditFlags {
  std::optional<std::string> recipe, mask, scale;
  std::optional<std::int64_t> tile_q, tile_kv;
  ScheduleFlags schedule;

  void add_to(CLI::App& command);
};

/// A flag's value, or the metadata of the same name.
std::optional<std::string> setting(const std::optional<std::string>& flag, const SafetensorsFile& file,
                                   const std::string& key);

/// The scale that flag or metadata give. Throws BadInput unless it is finite and above 0.
std::optional<float> scale_setting(const AuditFlags& flags, const SafetensorsFile& file);

/// A tile size that flag or metadata give; `key` is tile_q or tile_kv.
std::optional<std::int64_t> tile_setting(const std::optional<std::int64_t>& flag, const SafetensorsFile& file,
                                         const std::string& key);

/// --sms, else the metadata, else 132.
std::uint32_t sms_setting(const AuditFlags& flags, const SafetensorsFile& file);

/// The order of arrival that the metadata name. A --schedule leaves them aside.
std::optional<std::string> arrival_setting(const AuditFlags& flags, const SafetensorsFile& file);

/// The problem, recipe and schedule. Throws BadInput for anything unknown or contradictory.
AuditSetup make_setup(const AuditFlags& flags, const SafetensorsFile& file, const Recording& recording);

}  // namespace dashlab::cli
