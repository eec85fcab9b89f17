#include "dashlab/core/mask.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <sstream>

#include "dashlab/core/error.hpp"
#include "dashlab/core/whole_file.hpp"

namespace dashlab {
namespace {

constexpr std::int64_t unlimited = -1;
constexpr std::int64_t max_length = std::int64_t{1} << 40;

[[noreturn]] void bad_mask(std::string_view text, std::string_view why) {
  throw BadInput(fmt::format(
      "--mask '{}': {}; use full, causal, window:L,R, documents:LEN,LEN,... or blocks:FILE", text, why));
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t comma = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

WindowMask parse_window(std::string_view text, std::string_view bounds) {
  const auto parts = split(bounds);
  if (parts.size() != 2) bad_mask(text, "a window has two bounds, left and right");
  const auto bound = [&](std::string_view part) -> std::int64_t {
    if (part == "inf" || part == "-1") return unlimited;
    const auto value = whole_number(part);
    if (!value || *value < 0 || *value > max_length) {
      bad_mask(text, fmt::format("'{}' is no window bound (0, 1, ... or inf)", part));
    }
    return *value;
  };
  return {bound(parts[0]), bound(parts[1])};
}

DocumentsMask parse_documents(std::string_view text, std::string_view lengths) {
  DocumentsMask mask;
  for (std::string_view part : split(lengths)) {
    DocumentsMask::Document document;
    std::string_view digits = part;
    if (digits.ends_with('f') || digits.ends_with('c')) {
      document.causal = digits.back() == 'c';
      digits.remove_suffix(1);
    }
    const auto length = whole_number(digits);
    if (!length || *length < 0 || *length > max_length) {
      bad_mask(text, fmt::format("'{}' is no document length (0, 1, ...; with f at its end for a full block)",
                                 part));
    }
    document.length = *length;
    mask.documents.push_back(document);
  }
  return mask;
}

// One line per q tile, one 0 or 1 per kv tile; blanks between cells and lines that begin with # are skipped.
BlocksMask parse_blocks(std::string_view file) {
  BlocksMask mask;
  mask.file = file;
  std::istringstream in(read_file(mask.file));
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    std::uint32_t cells = 0;
    if (line.starts_with('#')) continue;
    for (char c : line) {
      if (c == ' ' || c == '\t' || c == '\r') continue;
      if (c != '0' && c != '1') {
        throw BadInput(
            fmt::format("{}:{}: '{}' is no cell; write one line per q tile with 0 or 1 per kv tile",
                        mask.file, number, c));
      }
      mask.visible.push_back(c == '1' ? 1 : 0);
      ++cells;
    }
    if (cells == 0) continue;
    if (mask.q_tiles > 0 && cells != mask.kv_tiles) {
      throw BadInput(fmt::format("{}:{}: {} cells where the lines above have {}; make all lines equally long",
                                 mask.file, number, cells, mask.kv_tiles));
    }
    mask.kv_tiles = cells;
    ++mask.q_tiles;
  }
  if (mask.q_tiles == 0) throw BadInput(fmt::format("{}: no cells; write one line per q tile", mask.file));
  return mask;
}

template <typename... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
// clang 14 does not deduce the arguments of an aggregate by itself.
template <typename... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

}  // namespace

Mask parse_mask(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = text.substr(std::min(colon + 1, text.size()));
  if (text == "full") return FullMask{};
  if (text == "causal") return CausalMask{};
  if (kind == "window") return parse_window(text, rest);
  if (kind == "documents") return parse_documents(text, rest);
  if (kind == "blocks" && rest.empty()) bad_mask(text, "the file is missing");
  if (kind == "blocks") return parse_blocks(rest);
  bad_mask(text, "unknown mask");
}

std::string to_string(const Mask& mask) {
  const auto bound = [](std::int64_t value) {
    return value < 0 ? std::string("inf") : fmt::to_string(value);
  };
  return std::visit(
      Overloaded{
          [](const FullMask&) { return std::string("full"); },
          [](const CausalMask&) { return std::string("causal"); },
          [&](const WindowMask& w) { return fmt::format("window:{},{}", bound(w.left), bound(w.right)); },
          [](const DocumentsMask& d) {
            std::vector<std::string> parts;
            for (const auto& document : d.documents) {
              parts.push_back(fmt::format("{}{}", document.length, document.causal ? "" : "f"));
            }
            return fmt::format("documents:{}", fmt::join(parts, ","));
          },
          [](const BlocksMask& b) { return fmt::format("blocks:{}", b.file); },
      },
      mask);
}

}  // namespace dashlab
