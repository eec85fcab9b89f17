// One row per SM: phases as named boxes, waits hatched, idle time grey; shares of time where boxes are too
// narrow.
#include "timeline_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "axis.hpp"
#include "dashlab/viz/bubbles.hpp"
#include "palette.hpp"

namespace dashlab::viz {
namespace {

constexpr double narrowest_task = 2.0;      // points
constexpr double narrowest_outlined = 4.0;  // of a phase on the critical path

class Rows {
 public:
  Rows(Canvas& canvas, const Timeline& timeline, const RowFrame& frame)
      : canvas_(canvas),
        timeline_(timeline),
        frame_(frame),
        begin_(rows_by_sm(timeline)),
        overlapped_(is_overlapped(timeline)),
        end_x_(x(timeline.makespan)) {}

  double draw() {
    const bool one_by_one = drawn_one_by_one(timeline_, frame_.points_per_tick);
    if (one_by_one && frame_.critical_path) mark_critical();
    for (std::uint32_t sm = 0; sm < timeline_.sms; ++sm) {
      const double top = frame_.top + sm * (frame_.row_height + frame_.row_gap);
      sm_label(sm, top);
      if (one_by_one) {
        draw_phases(sm, top);
      } else {
        draw_shares(sm, top);
      }
    }
    for (Box& box : critical_boxes_) canvas_.add(std::move(box));
    for (Box& box : frames_) canvas_.add(std::move(box));
    return frame_.top + timeline_.sms * (frame_.row_height + frame_.row_gap) - frame_.row_gap;
  }

 private:
  [[nodiscard]] double x(std::int64_t ticks) const {
    return frame_.left + static_cast<double>(ticks) * frame_.points_per_tick;
  }

  void sm_label(std::uint32_t sm, double top) {
    const double pitch = frame_.row_height + frame_.row_gap;
    const double strip = frame_.row_height >= 24 ? 10 : 0;
    const auto every = static_cast<std::uint32_t>(std::ceil(9.5 / pitch));
    const std::uint32_t stride = every <= 1 ? 1 : every <= 2 ? 2 : every <= 5 ? 5 : 10;
    if (sm % stride != 0) return;
    const double size = std::clamp(pitch * 0.6, 7.0, 11.0);
    canvas_.text(frame_.left - 7, top + (frame_.row_height + strip) / 2 + size * 0.36,
                 fmt::format("SM {}", sm), {size, colour::quiet, Align::right, false});
  }

  void mark_critical() {
    critical_.assign(timeline_.tasks.size(), 0);
    for (const CriticalStep& step : timeline_.critical_path)
      critical_[step.task] |= static_cast<std::uint8_t>(step.phase == Phase::compute ? 1 : 2);
  }

  void draw_phases(std::uint32_t sm, double row_top) {
    const bool strip = frame_.row_height >= 24;  // room for a line with the chain's name
    const double top = row_top + (strip ? 10 : 0), bottom = row_top + frame_.row_height;
    // Overlapped runs get two lanes: the compute engine above, the reduce engine below.
    const double middle = overlapped_ ? top + (bottom - top) * 0.62 : bottom;
    const double reduce_top = overlapped_ ? middle : top;
    canvas_.rect(frame_.left, top, end_x_, bottom, colour::idle);
    for (std::size_t i = begin_[sm]; i < begin_[sm + 1]; ++i) {
      const TaskSpan& task = timeline_.tasks[i];
      const TaskSpan* previous = i > begin_[sm] ? &timeline_.tasks[i - 1] : nullptr;
      const HeadColour& hue = head_colour(index(task.head));
      const bool starts_chain = previous == nullptr || previous->chain != task.chain;
      if (strip && starts_chain) chain_name(i, sm, row_top);
      const double wait_x = x(wait_begin(task, previous)), reduce_x = x(task.reduce_start);
      if (reduce_x - wait_x > 0.05) wait(wait_x, reduce_top, reduce_x, bottom);
      phase(i, Phase::compute, x(task.compute_start), top, x(task.compute_end), middle, hue.compute);
      if (task.reduce_end > task.reduce_start)
        phase(i, Phase::reduce, reduce_x, reduce_top, x(task.reduce_end), bottom, hue.reduce);
    }
    // Chains are parted by a line, for eyes that see no hues.
    for (std::size_t i = begin_[sm]; i < begin_[sm + 1]; ++i)
      if (i > begin_[sm] && timeline_.tasks[i].chain != timeline_.tasks[i - 1].chain) {
        const double at = x(timeline_.tasks[i].compute_start);
        canvas_.line(at, row_top, at, bottom, colour::ink, 0.8);
      }
  }

  // Of the fonts that a picture names, DejaVu Sans is the widest: its bold letters against text_width.
  static constexpr double widest_font = 1.09;

  void chain_name(std::size_t first, std::uint32_t sm, double row_top) {
    const TaskSpan& task = timeline_.tasks[first];
    std::size_t last = first;
    while (last + 1 < begin_[sm + 1] && timeline_.tasks[last + 1].chain == task.chain) ++last;
    const double left = x(task.compute_start) + 2, end = last + 1 < begin_[sm + 1]
                                                             ? x(timeline_.tasks[last + 1].compute_start)
                                                             : x(timeline_.tasks[last].reduce_end);
    const double width = end - left - 2;
    const std::array<std::string, 2> names{
        task.second_pass ? fmt::format("head {} · q {} (second pass)", index(task.head), index(task.q))
                         : fmt::format("head {} · kv {}", index(task.head), index(task.kv)),
        fmt::format("{}·{}", index(task.head), task.second_pass ? index(task.q) : index(task.kv))};
    for (const std::string& name : names)
      if (text_width(name, 8, true) * widest_font + 2 <= width) {
        canvas_.text(left, row_top + 7.5, name, {8, head_colour(index(task.head)).ink, Align::left, true});
        return;
      }
  }

  void wait(double left, double top, double right, double bottom) {
    if (right - left < 2.5) {
      canvas_.rect(left, top, right, bottom, colour::hatch);
      return;
    }
    canvas_.hatch(left, top, right, bottom, colour::paper, colour::hatch, 4);
    canvas_.frame(left, top, right, bottom, colour::hatch, 0.4);
  }

  void phase(std::size_t i, Phase phase, double left, double top, double right, double bottom,
             const char* fill) {
    const TaskSpan& task = timeline_.tasks[i];
    Box box;
    box.left = left, box.top = top, box.right = right, box.bottom = bottom;
    box.fill = fill;
    // A white hairline keeps neighbours apart; where it would eat the box, none is drawn.
    box.line = right - left > 3 ? colour::paper : fill;
    box.line_width = right - left > 3 ? 0.6 : 0;
    box.name = frame_.name_prefix + task_facts(timeline_, task, phase);
    if (phase == Phase::compute) {
      const double size = std::min(9.0, (bottom - top) * 0.62);
      const std::string number = std::to_string(task.second_pass ? index(task.kv) : index(task.q));
      for (const std::string& label : {(task.second_pass ? "kv" : "q") + number, number})
        if (size >= 5.5 && text_width(label, size) + 2 <= right - left) {
          box.label = label;
          box.font_size = size;
          break;
        }
    }
    if (!critical_.empty() && (critical_[i] & (phase == Phase::compute ? 1 : 2)) != 0) {
      if (right - left < narrowest_outlined) {
        extend_outline(task, left, top, right, bottom);
      } else {
        box.line = colour::ink;
        box.line_width = 1.8;
        const double inset = box.line_width / 2;
        box.left += inset, box.top += inset, box.right -= inset, box.bottom -= inset;
        critical_boxes_.push_back(std::move(box));  // on top of its neighbours
        return;
      }
    }
    canvas_.add(std::move(box));
  }

  // Narrow phases would drown in outlines of their own: one frame around those that follow each other on an
  // SM.
  void extend_outline(const TaskSpan& task, double left, double top, double right, double bottom) {
    if (!frames_.empty()) {
      Box& last = frames_.back();
      if (frame_sm_ == task.sm && std::abs(last.right - left) < 0.5 && last.top == top &&
          last.bottom == bottom) {
        last.right = right;
        return;
      }
    }
    Box box;
    box.left = left, box.top = top, box.right = right, box.bottom = bottom;
    box.fill = nullptr, box.line = colour::ink, box.line_width = 1.2;
    box.name = frame_.name_prefix + fmt::format("critical path on SM {}, from {} {}", index(task.sm),
                                                time_text(task.compute_start, timeline_.ticks_per_unit),
                                                unit_text(timeline_));
    frame_sm_ = task.sm;
    frames_.push_back(std::move(box));
  }

  // Columns of about three points: the height filled is the share of time the SM was busy, in the hue of the
  // head that took most of it.
  void draw_shares(std::uint32_t sm, double top) {
    const auto columns = static_cast<std::size_t>(std::max(1.0, (end_x_ - frame_.left) / 3));
    const double column_ticks = static_cast<double>(timeline_.makespan) / static_cast<double>(columns);
    std::vector<std::array<double, head_colours>> busy(columns, std::array<double, head_colours>{});
    const auto count = [&](std::int64_t from, std::int64_t to, std::uint32_t head) {
      auto column = std::min(columns - 1, static_cast<std::size_t>(static_cast<double>(from) / column_ticks));
      for (double at = static_cast<double>(from); at < static_cast<double>(to) && column < columns;
           ++column) {
        const double stop = std::min(static_cast<double>(to), static_cast<double>(column + 1) * column_ticks);
        if (stop > at) busy[column][head % head_colours] += stop - at;
        at = std::max(at, stop);
      }
    };
    for (std::size_t i = begin_[sm]; i < begin_[sm + 1]; ++i) {
      const TaskSpan& task = timeline_.tasks[i];
      count(task.compute_start, task.compute_end, index(task.head));
      if (!overlapped_) count(task.reduce_start, task.reduce_end, index(task.head));
    }
    canvas_.rect(frame_.left, top, end_x_, top + frame_.row_height, colour::idle);
    constexpr int levels = 8;
    const auto level_and_head = [&](std::size_t column) {
      const auto& shares = busy[column];
      double total = 0;
      for (const double share : shares) total += share;
      const auto head = static_cast<int>(std::max_element(shares.begin(), shares.end()) - shares.begin());
      return std::pair(static_cast<int>(std::lround(std::min(1.0, total / column_ticks) * levels)), head);
    };
    for (std::size_t from = 0; from < columns;) {
      const auto [level, head] = level_and_head(from);
      std::size_t to = from + 1;
      while (to < columns && level_and_head(to) == std::pair(level, head)) ++to;
      if (level > 0) {
        const double filled = frame_.row_height * level / levels;
        canvas_.rect(frame_.left + static_cast<double>(from) * column_ticks * frame_.points_per_tick,
                     top + frame_.row_height - filled,
                     frame_.left + static_cast<double>(to) * column_ticks * frame_.points_per_tick,
                     top + frame_.row_height, head_colour(static_cast<std::uint32_t>(head)).reduce);
      }
      from = to;
    }
  }

  Canvas& canvas_;
  const Timeline& timeline_;
  const RowFrame& frame_;
  std::vector<std::size_t> begin_;
  bool overlapped_;
  double end_x_;
  std::vector<std::uint8_t> critical_;
  std::vector<Box> critical_boxes_, frames_;
  SmId frame_sm_{};
};

}  // namespace

bool drawn_one_by_one(const Timeline& timeline, double points_per_tick) {
  if (timeline.tasks.empty() || timeline.sms == 0) return true;
  const double per_row = static_cast<double>(timeline.tasks.size()) / timeline.sms;
  return static_cast<double>(timeline.makespan) * points_per_tick / per_row >= narrowest_task &&
         timeline.tasks.size() <= 50'000;
}

double fitting_row_height(std::uint32_t sms, double height) {
  return std::clamp(height / std::max(1u, sms) * 0.86, 6.0, 34.0);
}

std::string task_facts(const Timeline& timeline, const TaskSpan& task, Phase phase) {
  const auto time = [&](std::int64_t ticks) { return time_text(ticks, timeline.ticks_per_unit); };
  const std::string what =
      fmt::format("head {}, q {}, kv {}", index(task.head), index(task.q), index(task.kv));
  if (phase == Phase::compute)
    return fmt::format("{}: compute {} to {} {} on SM {}{}", what, time(task.compute_start),
                       time(task.compute_end), unit_text(timeline), index(task.sm),
                       task.second_pass ? ", second pass" : "");
  return fmt::format("{}: reduce {} to {} {} on SM {}, rank {}", what, time(task.reduce_start),
                     time(task.reduce_end), unit_text(timeline), index(task.sm), task.rank);
}

double draw_rows(Canvas& canvas, const Timeline& timeline, const RowFrame& frame) {
  return Rows(canvas, timeline, frame).draw();
}

}  // namespace dashlab::viz
