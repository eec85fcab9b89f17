// Runs as a trace for ui.perfetto.dev (Chrome's JSON trace format).
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "dashlab/core/timeline.hpp"

namespace dashlab::viz {

/// One run of a trace: a process of its own. Predicted and measured runs stand side by side.
struct TraceRun {
  const Timeline* timeline = nullptr;
  std::string name;  ///< empty: the timeline's title
  double us_per_unit =
      0;  ///< length of the timeline's unit; 0: 1 for "us", else 1000, so that 1 c reads as 1 ms
};

/// The length of the prediction's unit at which its compute phases take as long, on average, as the measured
/// ones.
double matching_us_per_unit(const Timeline& predicted, const Timeline& measured);

/// The trace. Per SM a track of chains with their compute phases and a track of reduces with the waits before
/// them; flow arrows along every reduce order; counters of busy and of waiting SMs. Slices of one track nest.
/// Times keep their nanoseconds (Perfetto's own resolution).
std::string perfetto_json(std::span<const TraceRun> runs);

/// Compresses in gzip format.
std::string gzip(std::string_view bytes);

/// Writes the trace, compressed when the name ends in .gz. A trace above 32 MiB is compressed in any case and
/// gets the ending .gz. Returns the name it was written under.
std::filesystem::path write_perfetto(const std::filesystem::path& path, std::span<const TraceRun> runs);

}  // namespace dashlab::viz
