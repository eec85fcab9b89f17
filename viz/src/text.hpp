// Text that users typed, made fit for pictures: valid, without control characters, as wide as there is room.
#pragma once

#include <string>
#include <string_view>

namespace dashlab::viz {

/// The width of `text` in points, estimated for a proportional sans-serif font.
double text_width(std::string_view text, double size, bool bold = false);

/// Cuts to `width` points, with an ellipsis where something was cut. Never inside a UTF-8 sequence; control
/// characters become spaces and bytes that are not UTF-8 become U+FFFD.
std::string fit_text(std::string_view text, double size, double width, bool bold = false);

/// Valid UTF-8 without control characters, as fit_text makes it.
std::string clean_text(std::string_view text);

}  // namespace dashlab::viz
