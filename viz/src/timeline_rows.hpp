// The rows of one timeline in a rectangle of a canvas: what single timelines and compare sheets share.
#pragma once

#include <string>

#include "canvas.hpp"
#include "dashlab/core/timeline.hpp"

namespace dashlab::viz {

/// Where and how the rows go. Time 0 is at `left`, `points_per_tick` to the right of it.
struct RowFrame {
  double left = 0, top = 0, right = 0;
  double points_per_tick = 1;
  double row_height = 20, row_gap = 4;
  bool critical_path = true;
  std::string name_prefix;  ///< before every box name, to keep panels apart
};

/// True when phases are drawn one by one, false when shares of time are drawn.
bool drawn_one_by_one(const Timeline& timeline, double points_per_tick);

/// A row height that keeps `sms` rows legible and the whole below about `height` points.
double fitting_row_height(std::uint32_t sms, double height);

/// Draws the rows and their SM numbers (left of `left`); returns the y below the last row.
double draw_rows(Canvas& canvas, const Timeline& timeline, const RowFrame& frame);

/// "head 0, q 3, kv 2" and what else is known of a task, for hover texts.
std::string task_facts(const Timeline& timeline, const TaskSpan& task, Phase phase);

}  // namespace dashlab::viz
