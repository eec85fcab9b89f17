#include "flag_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "dashlab/core/error.hpp"

namespace dashlab::cli {

namespace {

template <typename Whole>
bool is_decimal(const std::string& text) {
  Whole value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const std::size_t digits = text.starts_with('-') ? 1 : 0;
  return error == std::errc{} && stop == end && !(text[digits] == '0' && text.size() > digits + 1);
}

void check_option(CLI::Option& option) {
  const std::string type = option.get_type_name();
  option.check([type](const std::string& text) -> std::string {
    if (text.empty()) return "the text is empty";
    const std::string shown = text.substr(0, 40);
    if (type.starts_with("UINT") && !is_decimal<std::uint64_t>(text))
      return fmt::format("'{}' is no whole number from 0 to {} in decimal digits", shown, UINT64_MAX);
    if (type.starts_with("INT") && !is_decimal<std::int64_t>(text))
      return fmt::format("'{}' is no whole number in decimal digits, or too large", shown);
    return "";
  });
}

[[noreturn]] void refuse(const std::string& flag, const std::string& why) {
  throw BadInput(fmt::format("{}: {}; leave it out", flag, why));
}

}  // namespace

void check_values(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({}))
    for (CLI::Option* option : command->get_options())
      if (option->get_items_expected_max() > 0) check_option(*option);
}

void refuse_given(const CLI::App& command, const std::vector<std::string>& flags, const std::string& why) {
  for (const std::string& flag : flags)
    if (command.count(flag) > 0) refuse(flag, why);
}

void refuse_given_but(const CLI::App& command, const std::vector<std::string>& allowed,
                      const std::string& why) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() > 0 && std::ranges::find(allowed, name) == allowed.end()) refuse(name, why);
  }
}

}  // namespace dashlab::cli
