// The terminal's timeline: drawings that a person can check by hand, widths, ASCII.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "dashlab/viz/terminal.hpp"
#include "planned.hpp"
#include "toy_run.hpp"

using namespace dashlab;

namespace {

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) found.push_back(line);
  return found;
}

std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(
      line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

TEST_CASE("causal 2 x 2, ascending, in ASCII at four columns to a compute phase") {
  // SM 0: q0 0..4, add 4..5, q1 5..9, add 9..10; SM 1: q1 0..4, waits until 10, adds 10..11. 4 ticks to a
  // unit.
  viz::TerminalStyle style;
  style.unicode = false;
  style.width = 4 + 3 + 22;  // two columns to a tick
  const auto drawn = lines(viz::terminal_timeline(toy::causal(2, 1), style));
  CHECK(drawn[0] == "SM 0 |0#######==1#######==  |");
  CHECK(drawn[1] == "SM 1 |1#######............==|");
  CHECK(drawn[3].ends_with("2.75 c"));
}

TEST_CASE("no line is wider than the terminal, and ASCII stays ASCII") {
  const Planned planned("descending", tile_problem(16, 16, 3, CausalMask{}), 16);
  for (const int width : {24, 40, 80, 133}) {
    for (const bool unicode : {true, false}) {
      viz::TerminalStyle style;
      style.width = width;
      style.unicode = unicode;
      const std::string text = viz::terminal_timeline(planned.timeline, style);
      for (const std::string& line : lines(text)) CHECK(columns(line) <= static_cast<std::size_t>(width));
      if (!unicode)
        CHECK(std::all_of(text.begin(), text.end(),
                          [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
      CHECK(text.find('\x1b') == std::string::npos);
    }
  }
}

TEST_CASE("many SMs share rows, and the legend says so") {
  const Planned planned("spt", tile_problem(128, 128, 2, CausalMask{}), 132);
  const auto drawn = lines(viz::terminal_timeline(planned.timeline));
  CHECK(drawn.size() <= 44);
  CHECK(drawn.front().find("SM 0-3") != std::string::npos);
  CHECK(drawn.back().find("4 SMs a row") != std::string::npos);
}

TEST_CASE("an empty run is drawn as an empty frame") {
  Timeline timeline;
  timeline.sms = 2;
  CHECK(lines(viz::terminal_timeline(timeline)).size() >= 4);
}
