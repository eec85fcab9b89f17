// Schedule files, format "dashlab.schedule/1" (docs/formats.md): JSON, comments allowed, read strictly.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "dashlab/core/problem.hpp"
#include "dashlab/core/schedule.hpp"

namespace dashlab {

/// A schedule with the problem it is for.
struct ScheduleFile {
  Problem problem;
  Schedule schedule;
};

/// The file's text. parse_schedule() of it gives the same problem and schedule.
std::string format_schedule(const Problem& problem, const Schedule& schedule);

/// Reads a schedule; `source` names it in errors. Throws BadInput with the place for text that is no such
/// file: bad JSON, unknown or repeated keys, numbers out of range, nesting that no schedule has. Whether the
/// schedule is complete and free of deadlock is for verify() to say.
ScheduleFile parse_schedule(std::string_view text, std::string_view source);

ScheduleFile read_schedule(const std::filesystem::path& path);

/// Writes the file whole or not at all.
void write_schedule(const std::filesystem::path& path, const Problem& problem, const Schedule& schedule);

}  // namespace dashlab
