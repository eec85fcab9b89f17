#include "dashlab/core/strict_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dashlab/core/error.hpp"

namespace dashlab {
namespace {

using nlohmann::json;

constexpr std::size_t longest_shown = 60;

/// What belongs where the parser stopped; its message names the part it was in, and quotes the file after
/// that.
std::string_view expected(std::string_view message) {
  if (message.ends_with("expected end of input")) return "nothing more, the value is complete";
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> parts{{
      {"invalid string",
       "a text in UTF-8 that ends with \" on its line, with \\n and \\u for control characters"},
      {"invalid number", "a number such as 3 or 0.25"},
      {"invalid comment", "a comment, // or /* */"},
      {"parsing object key", "a key in double quotes"},
      {"parsing object separator", "a colon after the key"},
      {"parsing object", "a comma or }"},
      {"parsing array", "a comma or ]"},
      {"parsing value", "a value: a number, a text in double quotes, a list or an object"},
  }};
  const std::string_view own = message.substr(0, message.find("last read"));
  for (const auto& [part, words] : parts)
    if (own.find(part) != own.npos) return words;
  return "another text";
}

[[noreturn]] void fail(std::string_view text, std::string_view source, const json::parse_error& error) {
  const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
  const std::string_view before = text.substr(0, at);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  throw BadInput(fmt::format("{}:{}:{}: no JSON: expected {}{}", source, std::ranges::count(before, '\n') + 1,
                             at - line_begin + 1, expected(error.what()),
                             at == text.size() ? ", but the file ends" : ""));
}

}  // namespace

json parse_strict_json(std::string_view text, std::string_view source, int deepest) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > deepest)
      throw BadInput(fmt::format("{}: nested too deeply: its format has {} levels", source, deepest));
    if (event == json::parse_event_t::object_start) {
      keys.resize(static_cast<std::size_t>(depth) + 1);
      keys.back().clear();
    } else if (event == json::parse_event_t::key) {
      auto& seen = keys.at(static_cast<std::size_t>(depth) - 1);
      if (!seen.insert(value.get<std::string>()).second)
        throw BadInput(fmt::format("{}: the key \"{}\" stands twice in one object", source,
                                   value.get<std::string>().substr(0, longest_shown)));
    }
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), watch, true, true);
  } catch (const json::parse_error& error) {
    fail(text, source, error);
  } catch (const json::exception&) {
    throw BadInput(fmt::format("{}: a number in it lies beyond 1e308; write a smaller one", source));
  }
}

}  // namespace dashlab
