// A single timeline and the compare sheet: title, figures, rows, axis, lower bound and legend around
// draw_rows.
#include "dashlab/viz/timeline_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "axis.hpp"
#include "canvas.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/viz/bubbles.hpp"
#include "figures.hpp"
#include "palette.hpp"
#include "timeline_rows.hpp"

namespace dashlab::viz {
namespace {

constexpr double margin = 24, gutter = 48;  // page margin; room for the SM numbers

double axis_line(Canvas& canvas, double left, double top, double right, double points_per_unit,
                 double rows_top, const std::string& unit) {
  for (const double step : round_steps((right - left) / points_per_unit, 14)) {
    const double at = left + step * points_per_unit;
    canvas.line(at, rows_top, at, top + 4, colour::grid, 0.6);
    canvas.text(at, top + 15, step_text(step), {9.5, colour::quiet, Align::centre, false});
  }
  canvas.line(left, top, right, top, colour::quiet, 0.8);
  canvas.text(right, top + 29, unit == "c" ? "time in c (compute phase of a full tile)" : "time in " + unit,
              {9.5, colour::quiet, Align::right, false});
  return top + 32;
}

// A dashed line over the rows, on a white one that parts it from what it crosses.
void bound_line(Canvas& canvas, double at, double top, double bottom, const std::string& name) {
  const auto end = [&](double y, const char* which) {
    Box box;
    box.left = at - 0.5, box.right = at + 0.5, box.top = y - 0.5, box.bottom = y + 0.5;
    box.name = name + which;
    box.invisible = true;
    return canvas.add(std::move(box));
  };
  const std::size_t from = end(top, ""), to = end(bottom, " end");
  for (const bool under : {true, false}) {
    Curve curve;
    curve.from = from, curve.to = to;
    curve.points = {
        {at, top}, {at, top + (bottom - top) / 3}, {at, bottom - (bottom - top) / 3}, {at, bottom}};
    curve.colour = under ? colour::paper : colour::bound;
    curve.width = under ? 2.8 : 1.3;
    curve.dashed = !under;
    curve.arrow = false;
    canvas.add(std::move(curve));
  }
}

struct Content {
  std::set<std::uint32_t> heads;
  bool waits = false, second_pass = false, critical = false, bound = false, one_by_one = true, shares = false;
};

double legend(Canvas& canvas, double left, double y, const Content& content) {
  double x = left;
  const double size = 9.5;
  const auto word = [&](const std::string& text) {
    canvas.text(x, y + 8.5, text, {size, colour::ink, Align::left, false});
    x += text_width(text, size) + 16;
  };
  const HeadColour& sample = head_colour(content.heads.empty() ? 0 : *content.heads.begin());
  if (content.shares) {
    canvas.rect(x, y, x + 7, y + 10, sample.reduce);
    canvas.rect(x + 7, y, x + 14, y + 10, colour::idle);
    canvas.rect(x + 7, y + 5, x + 14, y + 10, sample.reduce);
    x += 19;
    word("filled height: share of time busy");
  }
  if (content.one_by_one) {
    canvas.rect(x, y, x + 14, y + 10, sample.compute);
    x += 19;
    word("compute");
    canvas.rect(x, y, x + 14, y + 10, sample.reduce);
    x += 19;
    word("reduce");
  }
  if (content.waits && content.one_by_one) {
    canvas.hatch(x, y, x + 14, y + 10, colour::paper, colour::hatch, 4);
    canvas.frame(x, y, x + 14, y + 10, colour::hatch, 0.4);
    x += 19;
    word("waiting for its rank");
  }
  if (content.second_pass && content.one_by_one) {
    canvas.text(x, y + 8.5, "0 1 2", {size, colour::quiet, Align::left, false});
    x += text_width("0 1 2", size) + 6;
    word("second pass: kv tiles");
  }
  canvas.rect(x, y, x + 14, y + 10, colour::idle);
  canvas.frame(x, y, x + 14, y + 10, colour::grid, 0.4);
  x += 19;
  word("idle");
  if (content.critical && content.one_by_one) {
    canvas.rect(x, y, x + 14, y + 10, sample.compute);
    canvas.frame(x + 1, y + 1, x + 13, y + 9, colour::ink, 1.8);
    x += 19;
    word("critical path");
  }
  if (content.bound) {
    canvas.line(x, y + 5, x + 20, y + 5, colour::bound, 1.3, true);
    x += 25;
    word("lower bound");
  }
  if (content.heads.size() > 1) {
    x += 8;
    const std::size_t shown = std::min(content.heads.size(), head_colours);
    std::size_t k = 0;
    for (const std::uint32_t head : content.heads) {
      if (k++ == shown) break;
      canvas.rect(x, y, x + 7, y + 10, head_colour(head).compute);
      canvas.rect(x + 7, y, x + 14, y + 10, head_colour(head).reduce);
      x += 19;
      canvas.text(x, y + 8.5, fmt::format("head {}", head), {size, colour::ink, Align::left, false});
      x += text_width(fmt::format("head {}", head), size) + 10;
    }
    if (content.heads.size() > shown) word(fmt::format("… colours repeat every {} heads", head_colours));
  }
  return y + 12;
}

void add_content(Content& content, const Timeline& timeline, double points_per_tick, bool critical) {
  for (const TaskSpan& task : timeline.tasks) {
    content.heads.insert(index(task.head));
    content.second_pass = content.second_pass || task.second_pass;
  }
  const bool one_by_one = drawn_one_by_one(timeline, points_per_tick);
  content.one_by_one = content.one_by_one && one_by_one;
  content.shares = content.shares || !one_by_one;
  content.waits = content.waits || measure_bubbles(timeline).reduce_wait > 0;
  content.critical = content.critical || (critical && !timeline.critical_path.empty());
  content.bound = content.bound || timeline.lower_bound > 0;
}

}  // namespace

Picture draw_timeline(const Timeline& timeline, const TimelineStyle& style) {
  const ComparePanel panel{&timeline, {}};
  return draw_compare({&panel, 1}, timeline.title, style);
}

Picture draw_compare(std::span<const ComparePanel> panels, const std::string& title,
                     const TimelineStyle& style) {
  if (panels.empty()) throw BadInput("nothing to draw: give at least one schedule");
  const bool single = panels.size() == 1;
  double longest = 0;  // in units
  std::uint32_t most_sms = 0;
  std::uint64_t tasks = 0;
  for (const ComparePanel& panel : panels) {
    const Timeline& timeline = *panel.timeline;
    if (timeline.unit != panels.front().timeline->unit)
      throw BadInput("cannot compare times in " + timeline.unit + " with times in " +
                     panels.front().timeline->unit + ": scale one of them first");
    const double per_unit = static_cast<double>(timeline.ticks_per_unit);
    longest = std::max({longest, static_cast<double>(timeline.makespan) / per_unit,
                        static_cast<double>(timeline.lower_bound) / per_unit});
    most_sms = std::max(most_sms, timeline.sms);
    tasks += timeline.tasks.size();
  }
  if (longest <= 0) longest = 1;
  const double left = margin + gutter, right = style.width - margin - 8;
  const double points_per_unit = (right - left) / longest;
  const double row_height =
      fitting_row_height(most_sms, single ? 760 : 900.0 / static_cast<double>(panels.size()));
  const double row_gap = row_height >= 20 ? 4 : row_height >= 10 ? 2 : 1;

  const double header = single ? 72 : 52, panel_header = single ? 0 : 26, panel_gap = 16;
  double height = header + 74;
  for (const ComparePanel& panel : panels)
    height +=
        panel_header + panel.timeline->sms * (row_height + row_gap) - row_gap + (single ? 0 : panel_gap);

  Canvas canvas(style.width, height, title);
  canvas.curves_on_top = true;
  canvas.text(margin, 34, fit_text(title, 18, style.width - 2 * margin, true),
              {18, colour::ink, Align::left, true});
  Content content;
  for (const ComparePanel& panel : panels)
    add_content(content, *panel.timeline,
                points_per_unit / static_cast<double>(panel.timeline->ticks_per_unit), style.critical_path);

  // The grid goes behind the rows, so the axis is drawn first.
  axis_line(canvas, left, height - 70, right, points_per_unit, header, unit_text(*panels.front().timeline));
  double top = header;
  std::size_t number = 0;
  for (const ComparePanel& panel : panels) {
    const Timeline& timeline = *panel.timeline;
    const double per_tick = points_per_unit / static_cast<double>(timeline.ticks_per_unit);
    const std::string numbers = figures_text(timeline, measure_bubbles(timeline));
    if (single) {
      std::string line = numbers + fmt::format(" · {} tasks on {} SMs", count_text(tasks), timeline.sms);
      canvas.text(margin, 54, line, {12, colour::quiet, Align::left, false});
    } else {
      const std::string caption = panel.caption.empty() ? timeline.title : panel.caption;
      canvas.text(left, top + 16, fit_text(caption, 13, (right - left) * 0.5, true),
                  {13, colour::ink, Align::left, true});
      canvas.text(right, top + 16, numbers, {11, colour::quiet, Align::right, false});
      top += panel_header;
    }
    RowFrame frame;
    frame.left = left, frame.top = top, frame.right = right;
    frame.points_per_tick = per_tick;
    frame.row_height = row_height, frame.row_gap = row_gap;
    frame.critical_path = style.critical_path;
    if (!single)
      frame.name_prefix =
          fmt::format("{}. {}: ", ++number, panel.caption.empty() ? timeline.title : panel.caption);
    const double bottom = draw_rows(canvas, timeline, frame);
    if (timeline.lower_bound > 0)
      bound_line(canvas, left + static_cast<double>(timeline.lower_bound) * per_tick, top - (single ? 8 : 4),
                 bottom + 4,
                 frame.name_prefix + fmt::format("lower bound {} {}",
                                                 time_text(timeline.lower_bound, timeline.ticks_per_unit),
                                                 unit_text(timeline)));
    top = bottom + (single ? 0 : panel_gap);
  }
  legend(canvas, left, height - 28, content);
  if (content.shares)
    canvas.text(
        left, height - 41,
        fmt::format("{} tasks are more than an eye can part: columns show shares of time, not single tasks",
                    count_text(tasks)),
        {9.5, colour::quiet, Align::left, false});
  return Picture(std::move(canvas));
}

}  // namespace dashlab::viz
