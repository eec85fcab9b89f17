// The table of hues: Okabe and Ito's colour-blind-safe set ("Color Universal Design", 2008) in two
// lightnesses.
#include "palette.hpp"

#include <array>

namespace dashlab::viz {
namespace {

constexpr std::array<HeadColour, head_colours> table{{
    {"#a9d3f2", "#1167a8", "#0b4f83"},  // blue
    {"#fbd09a", "#b7650a", "#8a4a04"},  // orange
    {"#a6e0c9", "#0b7f5f", "#075f47"},  // green
    {"#eec2dc", "#a4417e", "#83305f"},  // reddish purple
    {"#f1e79a", "#857500", "#645800"},  // yellow
    {"#f8bda6", "#b5401c", "#8f2f12"},  // vermilion
    {"#cdc7f3", "#5a4cb4", "#453993"},  // violet
    {"#cfd5db", "#59636e", "#424a53"},  // grey
}};

}  // namespace

const HeadColour& head_colour(std::uint32_t head) noexcept {
  return table[head % head_colours];
}

}  // namespace dashlab::viz
