// What the notebooks share: checks that stop a run, tables, pictures, and the marks between the outputs of
// cells.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dashlab::notebook {

/// Called at the start of each cell in the copies that `./run notebooks` makes (scripts/notebook.py reads the
/// mark).
inline void begin_cell(int number) {
  std::cout << '\x1e' << number << '\n' << std::flush;
}

/// A claim of the text. Throws std::runtime_error when it does not hold, so that no page is made.
inline void require(bool holds, const std::string& claim) {
  if (holds) return;
  std::cout << std::flush;
  throw std::runtime_error("this does not hold: " + claim);
}

/// Shows an SVG picture in the notebook. Run as a plain program, it only says how large the picture is.
inline void show_svg(std::string_view svg) {
  if (std::getenv("DASHLAB_NOTEBOOK") != nullptr) {
    std::cout << '\x1d' << svg << '\x1d' << '\n';
  } else {
    std::cout << "[a picture: " << svg.size() << " bytes of SVG]\n";
  }
}

/// The width of a page's column, in points: wider pictures are shrunk there, and their text with them.
inline constexpr double page_width = 700;

/// A number with a fixed count of decimals, as text.
inline std::string fixed(double value, int decimals) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(decimals) << value;
  return text.str();
}

/// A bar of `value` out of `most`, up to `width` signs; at least one for anything above 0.
inline std::string bar(double value, double most, int width) {
  if (value <= 0) return "";
  return std::string(static_cast<std::size_t>(std::max(1.0, value / most * width + 0.5)), '#');
}

/// Lines with aligned columns: the first to the left, the others to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }

  /// Adds a row; numbers are written as std::ostream writes them.
  template <typename... Cells>
  void add(const Cells&... cells) {
    rows_.push_back({text(cells)...});
  }

  void print() const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        std::cout << (i == 0 ? "" : "   ") << (i == 0 ? std::left : std::right)
                  << std::setw(static_cast<int>(widths[i])) << row[i];
      }
      std::cout << '\n';
    }
    std::cout << std::right;
  }

 private:
  template <typename Cell>
  static std::string text(const Cell& cell) {
    std::ostringstream out;
    out << cell;
    return out.str();
  }

  std::vector<std::vector<std::string>> rows_;
};

}  // namespace dashlab::notebook
