// Reads back what a picture says: titles, boxes, texts and edges of an SVG that Graphviz wrote, and whether
// it is well-formed XML.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace svg {

struct Box {
  std::string title;
  std::string fill, stroke;
  double left = 0, right = 0, top = 0, bottom = 0;
};

inline std::string between(std::string_view text, std::string_view begin, std::string_view end,
                           std::size_t from = 0) {
  const auto a = text.find(begin, from);
  if (a == text.npos) return {};
  const auto b = text.find(end, a + begin.size());
  return std::string(text.substr(a + begin.size(), b - a - begin.size()));
}

inline std::string decoded(std::string text) {
  const std::pair<std::string_view, std::string_view> entities[] = {
      {"&lt;", "<"},  {"&gt;", ">"},   {"&quot;", "\""}, {"&#39;", "'"},
      {"&#45;", "-"}, {"&#160;", " "}, {"&amp;", "&"}};
  for (const auto& [entity, plain] : entities)
    for (auto at = text.find(entity); at != text.npos; at = text.find(entity, at + plain.size()))
      text.replace(at, entity.size(), plain);
  return text;
}

/// All groups of a class ("node", "edge", "cluster"), each with its inner text.
inline std::vector<std::string> groups(std::string_view svg, std::string_view kind) {
  std::vector<std::string> found;
  const std::string mark = "class=\"" + std::string(kind) + "\">";
  for (auto at = svg.find(mark); at != svg.npos; at = svg.find(mark, at + 1))
    found.emplace_back(svg.substr(at, svg.find("</g>", at) - at));
  return found;
}

inline std::vector<Box> boxes(std::string_view svg) {
  std::vector<Box> found;
  for (const std::string& group : groups(svg, "node")) {
    Box box;
    box.title = decoded(between(group, "<title>", "</title>"));
    box.fill = between(group, "fill=\"", "\"");
    box.stroke = between(group, "stroke=\"", "\"");
    const std::string points = between(group, "points=\"", "\"");
    const char* at = points.c_str();
    bool first = true;
    while (*at != '\0') {
      char* next = nullptr;
      const double x = std::strtod(at, &next);
      const double y = std::strtod(next + 1, &next);
      box.left = first ? x : std::min(box.left, x), box.right = first ? x : std::max(box.right, x);
      box.top = first ? y : std::min(box.top, y), box.bottom = first ? y : std::max(box.bottom, y);
      first = false;
      at = next;
      while (*at == ' ') ++at;
    }
    found.push_back(std::move(box));
  }
  return found;
}

inline std::vector<std::string> texts(std::string_view svg) {
  std::vector<std::string> found;
  for (auto at = svg.find("<text"); at != svg.npos; at = svg.find("<text", at + 1))
    found.push_back(decoded(between(svg, ">", "</text>", at)));
  return found;
}

inline bool says(std::string_view svg, std::string_view words) {
  for (const std::string& text : texts(svg))
    if (text.find(words) != text.npos) return true;
  return false;
}

/// Tags nest, and no raw '<' or '&' stands in text. Enough of XML for what Graphviz writes.
inline bool well_formed(std::string_view svg) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < svg.size();) {
    if (svg[at] == '&') {
      const auto end = svg.find(';', at);
      if (end == svg.npos || end - at > 10) return false;
      for (auto k = at + 1; k < end; ++k)
        if (std::isalnum(static_cast<unsigned char>(svg[k])) == 0 && svg[k] != '#') return false;
      at = end;
    }
    if (svg[at] != '<') {
      ++at;
      continue;
    }
    if (svg.substr(at, 4) == "<!--") {
      at = svg.find("-->", at);
      if (at == svg.npos) return false;
      continue;
    }
    const auto end = svg.find('>', at);
    if (end == svg.npos) return false;
    const std::string_view tag = svg.substr(at + 1, end - at - 1);
    if (tag.find('<') != tag.npos) return false;
    at = end + 1;
    if (tag.front() == '?' || tag.front() == '!') continue;
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.emplace_back(tag.substr(0, tag.find_first_of(" \n")));
    }
  }
  return open.empty();
}

}  // namespace svg
