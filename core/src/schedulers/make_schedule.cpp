// The table of named schedules.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "dashlab/core/error.hpp"
#include "schedulers.hpp"

namespace dashlab {
namespace {

struct Entry {
  std::string_view name;
  Schedule (*make)(const SchedulerInput&);
};

constexpr auto entries = std::to_array<Entry>({
    {"ascending", ascending},
    {"descending", descending},
    {"spt", spt},
    {"shift", shift},
    {"shift-spread", shift_spread},
    {"symmetric-shift", symmetric_shift},
    {"packed", packed},
    {"two-pass", two_pass},
    {"atomic", atomic},
});

constexpr auto names = [] {
  std::array<std::string_view, entries.size()> result;
  std::ranges::transform(entries, result.begin(), &Entry::name);
  return result;
}();

}  // namespace

std::span<const std::string_view> schedule_names() {
  return names;
}

Schedule make_schedule(std::string_view name, const Problem& problem, const TileMap& tiles,
                       const ScheduleOptions& options) {
  const auto entry = std::ranges::find(entries, name, &Entry::name);
  if (entry == entries.end()) {
    throw BadInput(
        fmt::format("--schedule '{}': unknown; use {} or a schedule file", name, fmt::join(names, ", ")));
  }
  if (options.sms == 0) throw BadInput("--sms 0: must be at least 1");
  if (options.group_mode == GroupMode::gathered && problem.group_size() == 1) {
    return make_schedule(name, problem, tiles, {options.sms, GroupMode::per_head});
  }
  return entry->make({problem, tiles, options});
}

}  // namespace dashlab
