// JSON files as their formats need them read: shallow, every key once, and an error said with its place.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace dashlab {

/// The document in `text`, which may have comments. Throws BadInput, naming `source`, line and column and
/// what belongs there, where it is no JSON; and where a key stands twice in one object or values nest more
/// than `deepest` levels deep, which nlohmann's parser lets pass.
nlohmann::json parse_strict_json(std::string_view text, std::string_view source, int deepest);

}  // namespace dashlab
