// Timelines as pictures: one row per SM, or several schedules stacked on one time axis.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dashlab/core/timeline.hpp"
#include "dashlab/viz/picture.hpp"

namespace dashlab::viz {

/// How a timeline is drawn.
struct TimelineStyle {
  double width = 1280;        ///< points
  bool critical_path = true;  ///< outline the phases on it
};

/// One row per SM, time to the right: compute light and reduce dark in the head's hue, waits for a rank
/// hatched, other idle time grey, the critical path outlined, the lower bound as a line; title, makespan and
/// bubble on top. Where tasks would be narrower than about two points, shares of time are drawn instead, and
/// the picture says so.
Picture draw_timeline(const Timeline& timeline, const TimelineStyle& style = {});

/// One part of a compare sheet.
struct ComparePanel {
  const Timeline* timeline = nullptr;
  std::string caption;  ///< empty: the timeline's title
};

/// Several runs of one problem under each other on one time axis, bubbles shaded, a caption each. All
/// timelines have the same unit (BadInput otherwise).
Picture draw_compare(std::span<const ComparePanel> panels, const std::string& title,
                     const TimelineStyle& style = {});

}  // namespace dashlab::viz
