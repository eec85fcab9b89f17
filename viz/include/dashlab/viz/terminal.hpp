// A compact timeline for the terminal, in Unicode or plain ASCII.
#pragma once

#include <cstdio>
#include <string>

#include "dashlab/core/timeline.hpp"

namespace dashlab::viz {

/// How a timeline is written.
struct TerminalStyle {
  int width = 80;       ///< columns; below 24 is drawn as 24
  bool unicode = true;  ///< false: ASCII only
  bool colour = false;  ///< ANSI colours, one hue per head
  int max_rows = 40;    ///< more SMs than this share rows
  bool legend = true;   ///< a last line that explains the signs
};

/// What the stream can show: width from the terminal (else $COLUMNS, else 80), Unicode from the locale's
/// variables, colour only on a terminal that is not dumb and when NO_COLOR is not set.
TerminalStyle terminal_style(std::FILE* stream);

/// The width at which this run is drawn when a run of `1 / share` times its makespan fills the style's width:
/// one time axis for several runs.
int terminal_width(const Timeline& timeline, const TerminalStyle& style, double share);

/// One line per SM, a time axis, and a legend; every line ends in a newline and none is wider than the
/// style's width. q numbers stand in the compute phases where they fit. Where a column holds more than about
/// two tasks, or several SMs share a row, the sign shows the share of time that was busy, and the legend says
/// so.
std::string terminal_timeline(const Timeline& timeline, const TerminalStyle& style = {});

}  // namespace dashlab::viz
