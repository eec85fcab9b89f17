// Drawing the DAG: boxes on the grid of SMs by steps, curves between them, legend and figures.
#include "dashlab/viz/dag_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "axis.hpp"
#include "canvas.hpp"
#include "dag_model.hpp"
#include "dashlab/core/error.hpp"
#include "palette.hpp"

namespace dashlab::viz {
namespace {

constexpr double margin = 24, gutter = 52, header = 96, footer = 54, wait_line = 15;
constexpr std::size_t most_waits = 12;  // named in the header

// Sizes of the grid: roomy for tasks, tight for collapsed chains.
struct Grid {
  double box_width = 54, box_height = 28, column_pitch = 80, row_pitch = 74, padding = 9;
};
constexpr Grid task_grid{}, chain_grid{62, 15, 84, 27, 3};

class Drawing {
 public:
  Drawing(const DagInput& input, const Dag& dag)
      : input_(input),
        dag_(dag),
        grid_(dag.collapsed ? chain_grid : task_grid),
        rows_(dag.rows + (dag.phantoms ? 1 : 0)),
        waits_(named_waits(dag)),
        header_(header + wait_line * static_cast<double>(std::min(waits_.size(), most_waits + 1))),
        canvas_(std::max(760.0, margin * 2 + gutter + dag.columns * grid_.column_pitch),
                header_ + rows_ * grid_.row_pitch + footer, input.title) {}

  Picture draw() {
    words();
    clusters();
    for (const DagNode& node : dag_.nodes) box(node);
    // Quiet edges first, so that what matters lies on top.
    for (const int pass : {0, 1, 2})
      for (const DagEdge& edge : dag_.edges)
        if (importance(edge) == pass) curve(edge);
    legend();
    return Picture(std::move(canvas_));
  }

 private:
  static std::vector<const DagEdge*> named_waits(const Dag& dag) {
    std::vector<const DagEdge*> waits;
    for (const DagEdge& edge : dag.edges)
      if (!edge.wait.empty()) waits.push_back(&edge);
    return waits;
  }
  static int importance(const DagEdge& edge) {
    return edge.in_cycle || edge.critical ? 2 : edge.against_lemma1 ? 1 : 0;
  }
  [[nodiscard]] double x(const DagNode& node) const {
    return margin + gutter + (node.step + 0.5) * grid_.column_pitch;
  }
  [[nodiscard]] double y(const DagNode& node) const { return header_ + (node.sm + 0.5) * grid_.row_pitch; }

  void words() {
    const double room = canvas_.width() - 2 * margin;
    canvas_.text(margin, 34, fit_text(input_.title, 18, room, true), {18, colour::ink, Align::left, true});
    std::string line = fmt::format("{} tasks on {} SMs · {} reduce edges", count_text(dag_.tasks), dag_.rows,
                                   count_text(dag_.reduce_edges));
    if (dag_.against_lemma1 > 0)
      line += fmt::format(", {} against Lemma 1 (from deep to less deep)", count_text(dag_.against_lemma1));
    if (input_.timeline != nullptr)
      line += fmt::format(" · makespan {} {}",
                          time_text(input_.timeline->makespan, input_.timeline->ticks_per_unit),
                          unit_text(*input_.timeline));
    canvas_.text(margin, 54, fit_text(line, 12, room), {12, colour::quiet, Align::left, false});
    const std::string trouble = alarm();
    if (!trouble.empty()) {
      canvas_.text(margin, 72, fit_text(trouble, 12, room, true), {12, colour::alarm, Align::left, true});
    } else if (!dag_.note.empty()) {
      canvas_.text(margin, 72, fit_text(dag_.note, 11, room), {11, colour::quiet, Align::left, false});
    }
    for (std::size_t i = 0; i < std::min(waits_.size(), most_waits); ++i)
      canvas_.text(margin, 72 + wait_line * static_cast<double>(i + 1),
                   fit_text(fmt::format("{}. {}", i + 1, waits_[i]->wait), 11, room),
                   {11, colour::alarm, Align::left, false});
    if (waits_.size() > most_waits)
      canvas_.text(margin, 72 + wait_line * (most_waits + 1),
                   fmt::format("and {} more", waits_.size() - most_waits),
                   {11, colour::alarm, Align::left, false});
    const std::uint32_t stride = dag_.columns > 60 ? 5 : 1;
    canvas_.text(margin + gutter - 8, header_ - 6, "step", {9.5, colour::quiet, Align::right, false});
    for (std::uint32_t step = 0; step < dag_.columns; step += stride)
      canvas_.text(margin + gutter + (step + 0.5) * grid_.column_pitch, header_ - 6, std::to_string(step),
                   {9.5, colour::quiet, Align::centre, false});
  }

  // What is wrong with the schedule, in one line; empty when nothing is.
  [[nodiscard]] std::string alarm() const {
    if (input_.verification == nullptr || input_.verification->errors.empty()) return {};
    for (const VerifyError& error : input_.verification->errors)
      if (!error.cycle.empty()) {
        if (dag_.phantoms || waits_.size() < 2) return error.message;
        return fmt::format("{}: a circle of {} waits, none of which can end", to_string(error.kind),
                           waits_.size());
      }
    return input_.verification->errors.front().message;
  }

  void clusters() {
    std::vector<Cluster> clusters(rows_);
    for (std::size_t i = 0; i < dag_.nodes.size(); ++i) clusters[dag_.nodes[i].sm].boxes.push_back(i);
    for (std::uint32_t row = 0; row < rows_; ++row) {
      if (clusters[row].boxes.empty()) continue;
      Cluster& cluster = clusters[row];
      const bool phantoms = row == dag_.rows;
      cluster.left = margin + gutter, cluster.right = margin + gutter + dag_.columns * grid_.column_pitch;
      cluster.top = header_ + row * grid_.row_pitch + grid_.padding,
      cluster.bottom = header_ + (row + 1) * grid_.row_pitch - grid_.padding;
      cluster.name = phantoms ? "tiles that never add" : fmt::format("SM {}", row);
      if (phantoms) cluster.fill = colour::paper, cluster.line = colour::alarm;
      canvas_.text(margin + gutter - 8, header_ + (row + 0.5) * grid_.row_pitch + 4,
                   phantoms ? "no task" : cluster.name,
                   {11, phantoms ? colour::alarm : colour::quiet, Align::right, phantoms});
      canvas_.add(std::move(cluster));
    }
  }

  void box(const DagNode& node) {
    const HeadColour& hue = head_colour(node.head);
    Box box;
    box.left = x(node) - grid_.box_width / 2, box.right = x(node) + grid_.box_width / 2;
    box.top = y(node) - grid_.box_height / 2, box.bottom = y(node) + grid_.box_height / 2;
    box.rounded = true;
    box.font_size = 8.5;
    box.fill = node.phantom ? colour::paper : node.in_cycle ? colour::alarm_light : hue.compute;
    box.line = node.phantom || node.in_cycle ? colour::alarm : node.critical ? colour::ink : hue.reduce;
    box.line_width = node.in_cycle || node.critical ? 2.2 : 0.8;
    box.dashed = node.phantom;
    if (dag_.collapsed) {
      box.name = fmt::format("chain {}: head {}, kv {}, {} tasks on SM {}", node.chain, node.head, node.kv,
                             node.tasks, node.sm);
      box.label = fmt::format("{} kv{} ×{}", node.head, node.kv, node.tasks);
    } else if (node.phantom) {
      box.name =
          fmt::format("head {}, q {}, kv {}: skipped by the mask, never adds", node.head, node.q, node.kv);
      box.label = fmt::format("q{} kv{}\nskipped", node.q, node.kv);
      box.font_colour = colour::alarm;
    } else {
      const bool ranked = !node.second_pass && !input_.schedule->row_begin.empty();
      box.name = fmt::format("head {}, q {}, kv {}: step {} on SM {}{}", node.head, node.q, node.kv,
                             node.step, node.sm,
                             node.second_pass ? ", second pass"
                             : ranked         ? fmt::format(", rank {}", node.rank)
                                              : "");
      box.label = fmt::format("q{} kv{}", node.q, node.kv);
      const bool heads = input_.problem->total_heads() > 1;
      if (heads || ranked || node.second_pass) box.label += '\n';
      if (heads) box.label += fmt::format("h{} ", node.head);
      if (ranked) box.label += fmt::format("rank {}", node.rank);
      if (node.second_pass) box.label += "pass 2";
    }
    canvas_.add(std::move(box));
  }

  void curve(const DagEdge& edge) {
    const DagNode &a = dag_.nodes[edge.from], &b = dag_.nodes[edge.to];
    Curve curve;
    curve.from = edge.from, curve.to = edge.to;
    curve.dashed = edge.kind != EdgeKind::program;
    curve.colour = edge.in_cycle || edge.against_lemma1 ? colour::alarm
                   : edge.critical                      ? colour::ink
                   : edge.kind == EdgeKind::program     ? colour::quiet
                                                        : head_colour(a.head).reduce;
    curve.width = edge.in_cycle || edge.critical ? 2.6 : 1;
    route(a, b, edge.kind, curve);
    if (!edge.wait.empty())
      badge(curve, static_cast<std::size_t>(std::ranges::find(waits_, &edge) - waits_.begin()) + 1,
            edge.wait);
    canvas_.add(std::move(curve));
  }

  void route(const DagNode& a, const DagNode& b, EdgeKind kind, Curve& curve) const {
    const double half = grid_.box_width / 2, tall = grid_.box_height / 2;
    const double ax = x(a), ay = y(a), bx = x(b), by = y(b);
    if (kind == EdgeKind::program) {
      const double x0 = ax + half, x1 = bx - half;
      curve.points = {{x0, ay}, {x0 + (x1 - x0) / 3, ay}, {x0 + (x1 - x0) * 2 / 3, by}, {x1, by}};
      return;
    }
    if (a.sm == b.sm) {  // an arc above the row
      const double rise = 13;
      curve.points = {
          {ax + 8, ay - tall}, {ax + 14, ay - tall - rise}, {bx - 14, by - tall - rise}, {bx - 8, by - tall}};
      return;
    }
    const double down = b.sm > a.sm ? 1 : -1;
    const auto steps = static_cast<double>(b.step) - static_cast<double>(a.step);
    const double side = steps > 0 ? 0.55 : steps < 0 ? -0.55 : 0.3;
    const double x0 = ax + half * side, x1 = bx - half * (steps == 0 ? -side : side);
    const double y0 = ay + down * tall, y1 = by - down * tall;
    const double reach = std::clamp(std::abs(y1 - y0) * 0.45, 10.0, 60.0);
    const auto rows = std::abs(static_cast<double>(b.sm) - static_cast<double>(a.sm));
    // Straight down over other boxes would hide the line: bow into the gap between two columns.
    const double bow = steps == 0 && rows > 1 ? grid_.column_pitch * 0.62 : 0;
    curve.points = {{x0, y0}, {x0 + bow, y0 + down * reach}, {x1 + bow, y1 - down * reach}, {x1, y1}};
  }

  // The wait's number on its curve, as the header lists it; beside the middle where curves cross.
  void badge(const Curve& curve, std::size_t number, const std::string& text) {
    const auto& p = curve.points;
    const double t = number % 2 == 0 ? 0.34 : 0.66, u = 1 - t;
    const auto at = [&](double a, double b, double c, double d) {
      return u * u * u * a + 3 * u * u * t * b + 3 * u * t * t * c + t * t * t * d;
    };
    const double x = at(p[0].first, p[1].first, p[2].first, p[3].first);
    const double y = at(p[0].second, p[1].second, p[2].second, p[3].second);
    Box box;
    box.left = x - 7, box.right = x + 7, box.top = y - 7, box.bottom = y + 7;
    box.fill = colour::paper, box.line = colour::alarm, box.line_width = 1;
    box.rounded = true;
    box.name = fmt::format("wait {}: {}", number, text);
    box.label = std::to_string(number);
    box.font_size = 9, box.font_colour = colour::alarm;
    canvas_.add(std::move(box));
  }

  void legend() {
    const double y = canvas_.height() - 24;
    double at = margin + gutter;
    const auto sample = [&](const char* colour, double width, bool dashed, const std::string& text) {
      canvas_.line(at, y, at + 26, y, colour, width, dashed);
      canvas_.text(at + 32, y + 3.5, text, {10, colour::ink, Align::left, false});
      at += 32 + text_width(text, 10) * 1.08 + 18;
    };
    sample(colour::quiet, 1, false, "program order");
    if (dag_.reduce_edges > 0)
      sample(head_colour(0).reduce, 1, true,
             input_.schedule->group_order.empty() ? "reduce order"
                                                  : "reduce order of rows, and of a group's dK and dV");
    bool critical = false, lemma1 = false, cycle = false;
    for (const DagEdge& edge : dag_.edges) {
      critical = critical || edge.critical;
      lemma1 = lemma1 || edge.against_lemma1;
      cycle = cycle || edge.in_cycle;
    }
    if (critical) sample(colour::ink, 2.6, false, "critical path");
    if (lemma1) sample(colour::alarm, 1, true, "against Lemma 1");
    if (dag_.collapsed)
      canvas_.text(at, y + 3.5, "box: head, kv tile × tasks of the chain",
                   {10, colour::quiet, Align::left, false});
    if (cycle) sample(colour::alarm, 2.6, false, dag_.phantoms ? "waits that never end" : "deadlock");
  }

  const DagInput& input_;
  const Dag& dag_;
  const Grid& grid_;
  std::uint32_t rows_;
  std::vector<const DagEdge*> waits_;
  double header_;
  Canvas canvas_;
};

}  // namespace

Picture draw_dag(const DagInput& input, const DagStyle& style) {
  if (input.problem == nullptr || input.schedule == nullptr)
    throw BadInput("a DAG is drawn from a problem and a schedule: give both");
  const Dag dag = build_dag(input, style);
  return Drawing(input, dag).draw();
}

}  // namespace dashlab::viz
