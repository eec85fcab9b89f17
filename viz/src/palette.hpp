// Colours: one hue per head in two lightnesses, distinguishable to colour-blind eyes and in grey.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dashlab::viz {

/// A hue in two lightnesses: compute phases light, reduce phases dark (every light one is lighter than every
/// dark one, so black-and-white prints keep the difference). `ink` is for text in the hue.
struct HeadColour {
  const char* compute;
  const char* reduce;
  const char* ink;
};

/// Hues repeat after this many heads.
constexpr std::size_t head_colours = 8;

/// The colour of head number `head` of a picture.
const HeadColour& head_colour(std::uint32_t head) noexcept;

namespace colour {
constexpr const char* paper = "#ffffff";
constexpr const char* ink = "#1b1f24";
constexpr const char* quiet = "#57606a";
constexpr const char* grid = "#d8dee4";
constexpr const char* idle = "#e4e8ec";
constexpr const char* hatch = "#8b949e";
constexpr const char* alarm = "#c1121f";
constexpr const char* alarm_light = "#fde3e3";
constexpr const char* bound = "#1b1f24";
}  // namespace colour

}  // namespace dashlab::viz
