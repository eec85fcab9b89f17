#include "text.hpp"

#include <algorithm>

namespace dashlab::viz {
namespace {

// The length of the UTF-8 sequence that starts at text[i], 0 if there is no valid one.
std::size_t sequence_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(i);
  std::size_t length = 0;
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) length = 2;
  if (first >= 0xe0 && first <= 0xef) length = 3;
  if (first >= 0xf0 && first <= 0xf4) length = 4;
  if (length == 0 || i + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
  if (first == 0xe0 && byte(i + 1) < 0xa0) return 0;  // overlong
  if (first == 0xed && byte(i + 1) > 0x9f) return 0;  // surrogates
  if (first == 0xf0 && byte(i + 1) < 0x90) return 0;
  if (first == 0xf4 && byte(i + 1) > 0x8f) return 0;
  return length;
}

double glyph_width(unsigned char first_byte) {
  switch (first_byte) {
    case 'i':
    case 'j':
    case 'l':
    case '\'':
    case '|':
    case '.':
    case ',':
    case ':':
    case ';':
    case '!':
    case 'I':
      return 0.28;
    case 'f':
    case 't':
    case 'r':
    case ' ':
    case '(':
    case ')':
    case '[':
    case ']':
    case '-':
    case '/':
      return 0.31;
    case 'm':
    case 'w':
    case 'M':
    case 'W':
    case '%':
      return 0.87;
    default:
      return first_byte >= 'A' && first_byte <= 'Z' ? 0.69 : 0.557;
  }
}

}  // namespace

double text_width(std::string_view text, double size, bool bold) {
  double ems = 0;
  for (std::size_t i = 0; i < text.size();) {
    ems += glyph_width(static_cast<unsigned char>(text[i]));
    i += std::max<std::size_t>(1, sequence_length(text, i));
  }
  return ems * size * (bold ? 1.07 : 1.0);
}

std::string clean_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(text, i);
    const auto first = static_cast<unsigned char>(text[i]);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      ++i;
      continue;
    }
    const bool control = first < 0x20 || first == 0x7f ||
                         (length == 2 && first == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0);
    if (control) {
      out += ' ';
    } else {
      out.append(text, i, length);
    }
    i += length;
  }
  return out;
}

std::string fit_text(std::string_view text, double size, double width, bool bold) {
  std::string clean = clean_text(text);
  if (text_width(clean, size, bold) <= width) return clean;
  const std::string ellipsis = "\xe2\x80\xa6";
  const double room = width - size;
  double used = 0;
  std::size_t i = 0;
  while (i < clean.size()) {
    const double next = glyph_width(static_cast<unsigned char>(clean[i])) * size * (bold ? 1.07 : 1.0);
    if (used + next > room) break;
    used += next;
    i += sequence_length(clean, i);
  }
  return clean.substr(0, i) + ellipsis;
}

}  // namespace dashlab::viz
