// The explorer: one self-contained HTML page to walk through runs step by step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "dashlab/core/timeline.hpp"

namespace dashlab::viz {

/// One run of the page.
struct ExplorerRun {
  const Timeline* timeline = nullptr;
  std::string name;  ///< empty: the timeline's title
};

/// What the page is made from.
struct ExplorerInput {
  std::string title;
  std::span<const ExplorerRun> runs;                   ///< all in one unit
  std::uint32_t q_tiles = 0, kv_tiles = 0, heads = 1;  ///< of the grids
};

/// The page: stacked timelines on one time axis, a grid of the mask per head, a slider and keys, facts on
/// hover and on keyboard focus, bubbles by cause, a deep link in the address. No network, no framework;
/// everything typed is escaped. Throws BadInput when the runs' units differ or a task is outside of the grid.
std::string explorer_html(const ExplorerInput& input);

/// Writes the page whole or not at all.
void write_explorer(const std::filesystem::path& path, const ExplorerInput& input);

}  // namespace dashlab::viz
