// The explorer's template, style and program; the build copies them from src/explorer/ into
// explorer_assets.cpp.
#pragma once

#include <string_view>

namespace dashlab::viz {

extern const std::string_view explorer_template;
extern const std::string_view explorer_css;
extern const std::string_view explorer_js;

}  // namespace dashlab::viz
