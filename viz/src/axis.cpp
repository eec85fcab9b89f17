// Numbers for captions and axes.
#include "axis.hpp"

#include <fmt/format.h>

#include <cmath>

namespace dashlab::viz {
namespace {

std::string trimmed(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

}  // namespace

std::string time_text(std::int64_t ticks, std::int64_t ticks_per_unit, int decimals) {
  return trimmed(
      fmt::format("{:.{}f}", static_cast<double>(ticks) / static_cast<double>(ticks_per_unit), decimals));
}

std::string unit_text(const Timeline& timeline) {
  return timeline.unit == "us" ? "µs" : timeline.unit;
}

std::string percent_text(double fraction) {
  return trimmed(fmt::format("{:.1f}", fraction * 100)) + " %";
}

std::string count_text(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::vector<double> round_steps(double last, int wanted) {
  if (!(last > 0)) return {0};
  const double raw = last / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> steps;
  for (int i = 0; i * step <= last * (1 + 1e-9); ++i) steps.push_back(i * step);
  return steps;
}

std::string step_text(double value) {
  return trimmed(fmt::format("{:.6f}", value));
}

}  // namespace dashlab::viz
