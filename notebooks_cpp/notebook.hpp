// How a notebook shows what is not plain text, and where the outputs of its cells part.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string_view>

namespace dashlab::notebook {

/// Called at the start of each cell in the copies that `./run notebooks` makes (scripts/notebook.py reads the
/// mark).
inline void begin_cell(int number) {
  std::cout << '\x1e' << number << '\n' << std::flush;
}

/// Shows an SVG picture in the notebook. Run as a plain program, it only says how large the picture is.
inline void show_svg(std::string_view svg) {
  if (std::getenv("DASHLAB_NOTEBOOK") != nullptr) {
    std::cout << '\x1d' << svg << '\x1d' << '\n';
  } else {
    std::cout << "[a picture: " << svg.size() << " bytes of SVG]\n";
  }
}

}  // namespace dashlab::notebook
