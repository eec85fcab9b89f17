// A drawing in points, y down, that Graphviz can render: flat shapes behind, boxes that carry a name, and
// curves. Renderers of timelines and DAGs draw here; graphviz.cpp alone knows cgraph and gvc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text.hpp"

namespace dashlab::viz {

/// Fonts in order of preference; Pango and browsers take the first one they have.
constexpr const char* font_family = "Liberation Sans,Arial,Helvetica,DejaVu Sans,sans-serif";

enum class Align { left, centre, right };

struct TextStyle {
  double size = 10;
  const char* colour = "#1b1f24";
  Align align = Align::left;
  bool bold = false;
};

/// A box that the picture's reader can point at: in SVG it is a node whose <title> is `name`.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  const char* fill = "#ffffff";  ///< nullptr: a frame
  const char* line = "#ffffff";
  double line_width = 0.5;
  std::string name;   ///< unique; shown on hover
  std::string label;  ///< drawn inside
  double font_size = 9;
  const char* font_colour = "#1b1f24";
  bool rounded = false, dashed = false;
  bool invisible = false;  ///< only an end for curves
};

/// A cubic curve between two boxes (indices into Canvas::boxes), with an optional arrow head.
struct Curve {
  std::size_t from = 0, to = 0;
  std::vector<std::pair<double, double>> points;  ///< 3n + 1 control points
  const char* colour = "#1b1f24";
  double width = 1;
  bool dashed = false, arrow = true;
  std::string label;  ///< drawn at (label_x, label_y); also the curve's hover text
  double label_x = 0, label_y = 0;
  double font_size = 8;
};

/// A named rectangle around boxes (a Graphviz cluster).
struct Cluster {
  double left = 0, top = 0, right = 0, bottom = 0;
  std::string name, label;
  const char* fill = "#f6f8fa";
  const char* line = "#d0d7de";
  std::vector<std::size_t> boxes;
};

class Canvas {
 public:
  Canvas(double width, double height, std::string title);

  void rect(double left, double top, double right, double bottom, const char* fill);
  /// Parallel diagonals, `gap` points apart, clipped to the rectangle; behind them `fill`.
  void hatch(double left, double top, double right, double bottom, const char* fill, const char* line,
             double gap);
  void line(double x0, double y0, double x1, double y1, const char* colour, double width,
            bool dashed = false);
  void frame(double left, double top, double right, double bottom, const char* colour, double width);
  /// y is the base line.
  void text(double x, double y, std::string_view text, const TextStyle& style);

  std::size_t add(Box box) {
    boxes_.push_back(std::move(box));
    return boxes_.size() - 1;
  }
  void add(Curve curve) { curves_.push_back(std::move(curve)); }
  void add(Cluster cluster) { clusters_.push_back(std::move(cluster)); }

  /// Curves above the boxes instead of below them.
  bool curves_on_top = false;

  [[nodiscard]] double width() const noexcept { return width_; }
  [[nodiscard]] double height() const noexcept { return height_; }
  [[nodiscard]] const std::string& title() const noexcept { return title_; }
  [[nodiscard]] const std::vector<Box>& boxes() const noexcept { return boxes_; }
  [[nodiscard]] const std::vector<Curve>& curves() const noexcept { return curves_; }
  [[nodiscard]] const std::vector<Cluster>& clusters() const noexcept { return clusters_; }
  /// The flat shapes in Graphviz's xdot language (y up).
  [[nodiscard]] const std::string& background() const noexcept { return background_; }

 private:
  void pen(const char* colour, double width, bool dashed);
  void fill(const char* colour);
  void point(double x, double y);

  double width_, height_;
  std::string title_;
  std::string background_;
  // The xdot state already written, so that it is not repeated for every shape.
  std::string pen_colour_, fill_colour_, font_;
  double pen_width_ = -1;
  bool pen_dashed_ = false;
  std::vector<Box> boxes_;
  std::vector<Curve> curves_;
  std::vector<Cluster> clusters_;
};

}  // namespace dashlab::viz
