// Numbers as captions show them, and round positions for an axis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dashlab/core/timeline.hpp"

namespace dashlab::viz {

/// Ticks in the timeline's unit, at most `decimals` places, no trailing zeros: "21.75".
std::string time_text(std::int64_t ticks, std::int64_t ticks_per_unit, int decimals = 3);
/// "c" or "µs".
std::string unit_text(const Timeline& timeline);
/// 0.1724 -> "17.2 %".
std::string percent_text(double fraction);
/// 100000 -> "100,000".
std::string count_text(std::uint64_t count);
/// Multiples of 1, 2 or 5 times a power of ten from 0 to `last`, at most about `wanted` of them.
std::vector<double> round_steps(double last, int wanted);
/// A value of round_steps as text.
std::string step_text(double value);

}  // namespace dashlab::viz
