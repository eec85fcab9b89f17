// Flat shapes as xdot operations (https://graphviz.org/docs/outputs/canon/#xdot), which every Graphviz output
// format draws.
#include "canvas.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "palette.hpp"

namespace dashlab::viz {
namespace {

void put(std::string& out, double value) {
  std::array<char, 32> buffer;
  // Two decimals are a 1/7200 inch; to_chars never writes a locale's comma.
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::round(value * 100) / 100,
                                 std::chars_format::fixed, 2);
  char* last = end.ptr;
  while (last[-1] == '0') --last;
  if (last[-1] == '.') --last;
  out.append(buffer.data(), last);
  out += ' ';
}

void put_string(std::string& out, std::string_view text) {
  out += std::to_string(text.size());
  out += " -";
  out += text;
  out += ' ';
}

}  // namespace

Canvas::Canvas(double width, double height, std::string title)
    : width_(width), height_(height), title_(std::move(title)) {
  rect(0, 0, width, height, colour::paper);
}

void Canvas::point(double x, double y) {
  put(background_, x);
  put(background_, height_ - y);
}

void Canvas::pen(const char* colour, double width, bool dashed) {
  if (pen_colour_ != colour) {
    background_ += "c ";
    put_string(background_, colour);
    pen_colour_ = colour;
  }
  if (pen_width_ != width) {
    std::string style = "setlinewidth(";
    put(style, width);
    style.back() = ')';
    background_ += "S ";
    put_string(background_, style);
    pen_width_ = width;
  }
  if (pen_dashed_ != dashed) {
    background_ += "S ";
    put_string(background_, dashed ? "dashed" : "solid");
    pen_dashed_ = dashed;
  }
}

void Canvas::fill(const char* colour) {
  if (fill_colour_ == colour) return;
  background_ += "C ";
  put_string(background_, colour);
  fill_colour_ = colour;
}

void Canvas::rect(double left, double top, double right, double bottom, const char* colour) {
  fill(colour);
  pen(colour, 0, false);
  background_ += "P 4 ";
  point(left, top);
  point(right, top);
  point(right, bottom);
  point(left, bottom);
}

void Canvas::hatch(double left, double top, double right, double bottom, const char* behind,
                   const char* colour, double gap) {
  rect(left, top, right, bottom, behind);
  // One polyline runs up one diagonal, along the border, and down the next: the border parts lie on the
  // frame. Diagonal number k is the set of points with (x - left) + (y - top) = k * gap.
  const double width = right - left, height = bottom - top;
  std::vector<std::pair<double, double>> path;
  bool up = true;
  for (double sum = gap; sum < width + height; sum += gap) {
    const double low_x = std::max(0.0, sum - height), high_x = std::min(width, sum);
    const std::pair<double, double> low{left + low_x, top + sum - low_x},
        high{left + high_x, top + sum - high_x};
    // Corners between two diagonals, so that no connecting piece cuts through the inside.
    if (!path.empty()) {
      const auto [x, y] = path.back();
      const auto [nx, ny] = up ? low : high;
      if (x != nx && y != ny) path.emplace_back(up ? left : right, up ? bottom : top);
    }
    path.push_back(up ? low : high);
    path.push_back(up ? high : low);
    up = !up;
  }
  if (path.size() < 2) return;
  pen(colour, 0.5, false);
  background_ += "L " + std::to_string(path.size()) + ' ';
  for (const auto& [x, y] : path) point(x, y);
}

void Canvas::line(double x0, double y0, double x1, double y1, const char* colour, double width, bool dashed) {
  pen(colour, width, dashed);
  background_ += "L 2 ";
  point(x0, y0);
  point(x1, y1);
}

void Canvas::frame(double left, double top, double right, double bottom, const char* colour, double width) {
  pen(colour, width, false);
  background_ += "p 4 ";
  point(left, top);
  point(right, top);
  point(right, bottom);
  point(left, bottom);
}

void Canvas::text(double x, double y, std::string_view text, const TextStyle& style) {
  if (text.empty()) return;
  std::string font = "F ";
  put(font, style.size);
  put_string(font, font_family);
  font += style.bold ? "t 1 " : "t 0 ";
  if (font_ != font) {
    background_ += font;
    font_ = font;
  }
  pen(style.colour, pen_width_, pen_dashed_);
  background_ += "T ";
  point(x, y);
  background_ += style.align == Align::left ? "-1 " : style.align == Align::right ? "1 " : "0 ";
  put(background_, text_width(text, style.size, style.bold));
  put_string(background_, clean_text(text));
}

}  // namespace dashlab::viz
