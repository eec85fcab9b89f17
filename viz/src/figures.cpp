#include "figures.hpp"

#include <fmt/format.h>

#include "axis.hpp"

namespace dashlab::viz {

std::string figures_text(const Timeline& timeline, const Bubbles& bubbles) {
  std::string text =
      fmt::format("makespan {} {} · bubble {}", time_text(timeline.makespan, timeline.ticks_per_unit),
                  unit_text(timeline), percent_text(bubbles.fraction()));
  if (bubbles.reduce_wait > 0)
    text += fmt::format(" (waiting for a rank {})",
                        percent_text(static_cast<double>(bubbles.reduce_wait) /
                                     static_cast<double>(bubbles.busy + bubbles.bubbles())));
  if (timeline.lower_bound > 0)
    text += fmt::format(" · lower bound {} {}", time_text(timeline.lower_bound, timeline.ticks_per_unit),
                        unit_text(timeline));
  return text;
}

}  // namespace dashlab::viz
