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

// The length of the UTF-8 sequence that starts at text[i], 0 if there is no valid one.
std::size_t sequence_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(i);
  std::size_t length = 0;
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) length = 2;
  if (first >= 0xe0 && first <= 0xef) length = 3;
  if (first >= 0xf0 && first <= 0xf4) length = 4;
  if (length == 0 || i + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
  if (first == 0xe0 && byte(i + 1) < 0xa0) return 0;  // overlong
  if (first == 0xed && byte(i + 1) > 0x9f) return 0;  // surrogates
  if (first == 0xf0 && byte(i + 1) < 0x90) return 0;
  if (first == 0xf4 && byte(i + 1) > 0x8f) return 0;
  return length;
}

double glyph_width(unsigned char first_byte) {
  switch (first_byte) {
    case 'i':
    case 'j':
    case 'l':
    case '\'':
    case '|':
    case '.':
    case ',':
    case ':':
    case ';':
    case '!':
    case 'I':
      return 0.28;
    case 'f':
    case 't':
    case 'r':
    case ' ':
    case '(':
    case ')':
    case '[':
    case ']':
    case '-':
    case '/':
      return 0.31;
    case 'm':
    case 'w':
    case 'M':
    case 'W':
    case '%':
      return 0.87;
    default:
      return first_byte >= 'A' && first_byte <= 'Z' ? 0.69 : 0.557;
  }
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

double text_width(std::string_view text, double size, bool bold) {
  double ems = 0;
  for (std::size_t i = 0; i < text.size();) {
    ems += glyph_width(static_cast<unsigned char>(text[i]));
    i += std::max<std::size_t>(1, sequence_length(text, i));
  }
  return ems * size * (bold ? 1.07 : 1.0);
}

std::string clean_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(text, i);
    const auto first = static_cast<unsigned char>(text[i]);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      ++i;
      continue;
    }
    const bool control = first < 0x20 || first == 0x7f ||
                         (length == 2 && first == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0);
    if (control) {
      out += ' ';
    } else {
      out.append(text, i, length);
    }
    i += length;
  }
  return out;
}

std::string fit_text(std::string_view text, double size, double width, bool bold) {
  std::string clean = clean_text(text);
  if (text_width(clean, size, bold) <= width) return clean;
  const std::string ellipsis = "\xe2\x80\xa6";
  const double room = width - size;
  double used = 0;
  std::size_t i = 0;
  while (i < clean.size()) {
    const double next = glyph_width(static_cast<unsigned char>(clean[i])) * size * (bold ? 1.07 : 1.0);
    if (used + next > room) break;
    used += next;
    i += sequence_length(clean, i);
  }
  return clean.substr(0, i) + ellipsis;
}

}  // namespace dashlab::viz
