// Timelines as characters: a column is a slice of time, its sign what the SM did for most of the slice.
#include "dashlab/viz/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "axis.hpp"
#include "dashlab/viz/bubbles.hpp"
#include "palette.hpp"

namespace dashlab::viz {
namespace {

struct Signs {
  std::string_view compute, reduce, wait, idle, edge, tick, axis;
  std::array<std::string_view, 5> share;  // from empty to full
};

constexpr Signs unicode_signs{"█", "▒", "·", " ", "│", "┬", "─", {" ", "░", "▒", "▓", "█"}};
constexpr Signs ascii_signs{"#", "=", ".", " ", "|", "+", "-", {" ", ".", ":", "+", "#"}};

// 256-colour codes near the palette of pictures: compute light, reduce dark.
constexpr std::array<std::array<int, 2>, head_colours> ansi{
    {{153, 25}, {222, 130}, {151, 29}, {218, 132}, {229, 100}, {216, 124}, {189, 61}, {252, 240}}};

struct Cell {
  std::string text;
  int foreground = -1, background = -1;
};

enum State { computing, reducing, waiting, idling, states };

// What happened in one column of one row, in ticks by state, and by head for the busy states.
struct Slice {
  std::array<double, states> time{};
  std::array<double, head_colours> head{};
};

class Drawing {
 public:
  Drawing(const Timeline& timeline, const TerminalStyle& style)
      : timeline_(timeline),
        style_(style),
        signs_(style.unicode ? unicode_signs : ascii_signs),
        begin_(rows_by_sm(timeline)),
        overlapped_(is_overlapped(timeline)) {
    const auto sms = std::max(1u, timeline.sms);
    sms_per_row_ = (sms + static_cast<unsigned>(std::max(1, style.max_rows)) - 1) /
                   static_cast<unsigned>(std::max(1, style.max_rows));
    label_ = static_cast<int>(row_name(timeline.sms == 0 ? 0 : (sms - 1) / sms_per_row_).size());
    columns_ = std::max(24, style.width) - label_ - 3;
    ticks_ = std::max(1.0, static_cast<double>(timeline.makespan)) / columns_;
    const double tasks_per_column = static_cast<double>(timeline.tasks.size()) / sms / columns_;
    shares_ = sms_per_row_ > 1 || tasks_per_column > 2;
  }

  /// Columns of time, without names and frame.
  [[nodiscard]] int columns() const noexcept { return columns_; }

  std::string draw() {
    std::string out;
    for (std::uint32_t first = 0; first < timeline_.sms; first += sms_per_row_) {
      std::vector<Slice> slices(static_cast<std::size_t>(columns_));
      const std::uint32_t last = std::min(timeline_.sms, first + sms_per_row_);
      for (std::uint32_t sm = first; sm < last; ++sm) collect(sm, slices);
      std::vector<Cell> cells;
      for (const Slice& slice : slices)
        cells.push_back(shares_ ? share_cell(slice, last - first) : cell(slice));
      if (!shares_) write_numbers(first, cells);
      out += fmt::format("{:>{}} {}", row_name(first / sms_per_row_), label_, signs_.edge);
      out += coloured(cells);
      out += signs_.edge;
      out += '\n';
    }
    out += axis();
    if (style_.legend) out += legend();
    return out;
  }

 private:
  [[nodiscard]] std::string row_name(std::uint32_t row) const {
    if (sms_per_row_ == 1) return fmt::format("SM {}", row);
    const std::uint32_t first = row * sms_per_row_;
    return fmt::format("SM {}-{}", first, std::min(timeline_.sms, first + sms_per_row_) - 1);
  }

  void add(std::vector<Slice>& slices, std::int64_t from, std::int64_t to, State state,
           std::uint32_t head) const {
    double at = static_cast<double>(from);
    const double stop = static_cast<double>(to);
    auto column = static_cast<std::size_t>(at / ticks_);
    while (at < stop && column < slices.size()) {
      const double next = std::min(stop, static_cast<double>(column + 1) * ticks_);
      if (next > at) {
        slices[column].time[state] += next - at;
        if (state <= reducing) slices[column].head[head % head_colours] += next - at;
        at = next;
      }
      ++column;
    }
  }

  void collect(std::uint32_t sm, std::vector<Slice>& slices) const {
    const TaskSpan* previous = nullptr;
    for (std::size_t i = begin_[sm]; i < begin_[sm + 1]; ++i) {
      const TaskSpan& task = timeline_.tasks[i];
      add(slices, task.compute_start, task.compute_end, computing, index(task.head));
      if (!overlapped_) {
        add(slices, wait_begin(task, previous), task.reduce_start, waiting, 0);
        add(slices, task.reduce_start, task.reduce_end, reducing, index(task.head));
      } else if (previous != nullptr) {
        add(slices, previous->compute_end, task.compute_start, waiting, 0);
      }
      previous = &task;
    }
  }

  static int main_head(const Slice& slice) {
    return static_cast<int>(std::max_element(slice.head.begin(), slice.head.end()) - slice.head.begin());
  }

  [[nodiscard]] Cell cell(const Slice& slice) const {
    std::array<double, states> time = slice.time;
    time[idling] = std::max(0.0, ticks_ - time[computing] - time[reducing] - time[waiting]);
    // Short reduces would never win a column: a third of it is enough to show.
    if (time[reducing] >= ticks_ * 0.34 && time[waiting] < ticks_ * 0.5) time[reducing] = ticks_ * 2;
    const auto state = std::max_element(time.begin(), time.end()) - time.begin();
    const auto colours = ansi[static_cast<std::size_t>(main_head(slice))];
    if (state == computing) return {std::string(signs_.compute), colours[0], -1};
    if (state == reducing)
      return {std::string(style_.colour ? signs_.compute : signs_.reduce), colours[1], -1};
    if (state == waiting) return {std::string(signs_.wait), 244, -1};
    return {std::string(signs_.idle), -1, -1};
  }

  [[nodiscard]] Cell share_cell(const Slice& slice, std::uint32_t sms) const {
    const double share = (slice.time[computing] + slice.time[reducing]) / (ticks_ * sms);
    const auto level = static_cast<std::size_t>(std::clamp(std::lround(share * 4), 0L, 4L));
    return {std::string(signs_.share[level]), ansi[static_cast<std::size_t>(main_head(slice))][1], -1};
  }

  // The q number at the start of a compute phase that spans enough columns.
  void write_numbers(std::uint32_t sm, std::vector<Cell>& cells) const {
    for (std::size_t i = begin_[sm]; i < begin_[sm + 1]; ++i) {
      const TaskSpan& task = timeline_.tasks[i];
      const std::string number = std::to_string(task.second_pass ? index(task.kv) : index(task.q));
      const auto first =
          static_cast<std::size_t>(std::ceil(static_cast<double>(task.compute_start) / ticks_ - 0.5));
      const auto last =
          static_cast<std::size_t>(std::floor(static_cast<double>(task.compute_end) / ticks_ + 0.5));
      if (first + number.size() + 1 > last || last > cells.size()) continue;
      const int light = ansi[index(task.head) % head_colours][0];
      for (std::size_t k = 0; k < number.size(); ++k)
        cells[first + k] = {std::string(1, number[k]), 16, light};
    }
  }

  [[nodiscard]] std::string coloured(const std::vector<Cell>& cells) const {
    std::string out;
    int foreground = -1, background = -1;
    for (const Cell& cell : cells) {
      if (style_.colour && (cell.foreground != foreground || cell.background != background)) {
        out += "\x1b[0";
        if (cell.foreground >= 0) out += fmt::format(";38;5;{}", cell.foreground);
        if (cell.background >= 0) out += fmt::format(";48;5;{}", cell.background);
        out += 'm';
        foreground = cell.foreground, background = cell.background;
      }
      out += cell.text;
    }
    if (style_.colour && (foreground >= 0 || background >= 0)) out += "\x1b[0m";
    return out;
  }

  [[nodiscard]] std::string axis() const {
    const double units =
        static_cast<double>(timeline_.makespan) / static_cast<double>(timeline_.ticks_per_unit);
    std::vector<std::string> rule(static_cast<std::size_t>(columns_) + 1, std::string(signs_.axis));
    // Numbers below the rule; the end of the run is always named, and whatever would touch it is left out.
    const std::string unit = style_.unicode ? unit_text(timeline_) : timeline_.unit;
    const std::string end = time_text(timeline_.makespan, timeline_.ticks_per_unit) + ' ' + unit;
    std::string numbers(static_cast<std::size_t>(columns_) + 2, ' ');
    const std::size_t limit = numbers.size() > end.size() + 2 ? numbers.size() - end.size() - 2 : 0;
    for (const double step : round_steps(units, std::max(2, columns_ / 10))) {
      const auto at = static_cast<std::size_t>(units > 0 ? std::lround(step / units * columns_) : 0);
      const std::string text = step_text(step);
      if (at + text.size() > limit) continue;
      rule[at] = signs_.tick;
      numbers.replace(at, text.size(), text);
    }
    if (numbers.size() >= display_width(end))
      numbers = numbers.substr(0, numbers.size() - display_width(end)) + end;
    std::string out(static_cast<std::size_t>(label_) + 1, ' ');
    for (const std::string& sign : rule) out += sign;
    return out + '\n' + std::string(static_cast<std::size_t>(label_) + 1, ' ') + numbers + '\n';
  }

  static std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  }

  [[nodiscard]] std::string legend() const {
    std::vector<std::string> words;
    if (shares_) {
      words.push_back(fmt::format("{} to {}: time busy", signs_.share[1], signs_.share[4]));
      if (sms_per_row_ > 1) words.push_back(fmt::format("{} SMs a row", sms_per_row_));
    } else {
      words.push_back(fmt::format("{} compute", signs_.compute));
      words.emplace_back("number: q tile");
      if (!overlapped_) words.push_back(fmt::format("{} reduce", style_.colour ? "dark" : signs_.reduce));
      words.push_back(fmt::format("{} waiting for a rank", signs_.wait));
    }
    std::string out, line = " ";
    for (const std::string& word : words) {
      if (line.size() > 1 &&
          display_width(line) + display_width(word) + 2 > static_cast<std::size_t>(columns_ + label_ + 3)) {
        out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
        line = " ";
      }
      line += ' ' + word + ' ';
    }
    while (line.back() == ' ') line.pop_back();
    return out + line + '\n';
  }

  const Timeline& timeline_;
  const TerminalStyle& style_;
  const Signs& signs_;
  std::vector<std::size_t> begin_;
  bool overlapped_, shares_ = false;
  std::uint32_t sms_per_row_ = 1;
  int label_ = 0, columns_ = 0;
  double ticks_ = 1;  // per column
};

}  // namespace

TerminalStyle terminal_style(std::FILE* stream) {
  TerminalStyle style;
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const int file = ::fileno(stream);
  const bool terminal = ::isatty(file) == 1;
  winsize size{};
  if (terminal && ::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = size.ws_col;
  } else if (const int columns = std::atoi(variable("COLUMNS").c_str()); columns > 0) {
    style.width = columns;
  }
  style.width = std::clamp(style.width, 24, 400);
  std::string locale = variable("LC_ALL");
  if (locale.empty()) locale = variable("LC_CTYPE");
  if (locale.empty()) locale = variable("LANG");
  std::transform(locale.begin(), locale.end(), locale.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  style.unicode = locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  style.colour = terminal && std::getenv("NO_COLOR") == nullptr && variable("TERM") != "dumb";
  return style;
}

int terminal_width(const Timeline& timeline, const TerminalStyle& style, double share) {
  const Drawing drawing(timeline, style);
  const int frame = style.width - drawing.columns();
  return std::max(24, frame + static_cast<int>(std::lround(drawing.columns() * share)));
}

std::string terminal_timeline(const Timeline& timeline, const TerminalStyle& style) {
  return Drawing(timeline, style).draw();
}

}  // namespace dashlab::viz
