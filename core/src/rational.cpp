#include "dashlab/core/rational.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <numeric>

#include "dashlab/core/error.hpp"

namespace dashlab {
namespace {

__extension__ using Wide = __int128;

Wide gcd(Wide a, Wide b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

Rational reduced(Wide num, Wide den) {
  const Wide common = gcd(num, den);
  if (common > 1) {
    num /= common;
    den /= common;
  }
  constexpr Wide limit = INT64_MAX;
  if (num > limit || num < -limit || den > limit) {
    throw BadInput("costs: an exact time leaves 64 bits; use costs with smaller denominators");
  }
  return {static_cast<std::int64_t>(num), static_cast<std::int64_t>(den)};
}

std::int64_t parse_whole(std::string_view digits, std::string_view text, std::string_view what) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty()) {
    throw BadInput(fmt::format("{}: '{}' is no number; write it like 2, 0.25 or 1/4", what, text));
  }
  return value;
}

}  // namespace

Rational::Rational(std::int64_t num, std::int64_t den) : num_(num), den_(den) {
  if (den == 0) throw BadInput("costs: a fraction has the denominator 0");
  const std::int64_t common = std::gcd(num_, den_);
  if (common > 1) {
    num_ /= common;
    den_ /= common;
  }
  if (den_ < 0) {
    num_ = -num_;
    den_ = -den_;
  }
}

Rational operator+(const Rational& a, const Rational& b) {
  return reduced(Wide{a.num_} * b.den_ + Wide{b.num_} * a.den_, Wide{a.den_} * b.den_);
}
Rational operator-(const Rational& a, const Rational& b) {
  return reduced(Wide{a.num_} * b.den_ - Wide{b.num_} * a.den_, Wide{a.den_} * b.den_);
}
Rational operator*(const Rational& a, const Rational& b) {
  return reduced(Wide{a.num_} * b.num_, Wide{a.den_} * b.den_);
}
Rational operator/(const Rational& a, const Rational& b) {
  if (b.num_ == 0) throw BadInput("costs: division by 0");
  const Wide sign = b.num_ < 0 ? -1 : 1;
  return reduced(sign * a.num_ * b.den_, sign * a.den_ * b.num_);
}
std::strong_ordering operator<=>(const Rational& a, const Rational& b) noexcept {
  return Wide{a.num_} * b.den_ <=> Wide{b.num_} * a.den_;
}

Rational parse_rational(std::string_view text, std::string_view what) {
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    const auto den = parse_whole(text.substr(slash + 1), text, what);
    if (den == 0) throw BadInput(fmt::format("{}: '{}' has the denominator 0", what, text));
    return {parse_whole(text.substr(0, slash), text, what), den};
  }
  std::string_view mantissa = text;
  std::int64_t exponent = 0;
  if (const auto e = text.find_first_of("eE"); e != std::string_view::npos) {
    exponent = parse_whole(text.substr(e + 1), text, what);
    mantissa = text.substr(0, e);
  }
  std::string digits(mantissa);
  if (const auto dot = digits.find('.'); dot != std::string::npos) {
    exponent -= static_cast<std::int64_t>(digits.size() - dot - 1);
    digits.erase(dot, 1);
  }
  Rational value = parse_whole(digits, text, what);
  if (std::abs(exponent) > 18) {
    throw BadInput(
        fmt::format("{}: '{}' is too large or too fine; keep within 18 decimal places", what, text));
  }
  for (; exponent > 0; --exponent) value = value * Rational(10);
  for (; exponent < 0; ++exponent) value = value / Rational(10);
  return value;
}

std::string to_string(const Rational& value) {
  std::int64_t den = value.den();
  int twos = 0;
  int fives = 0;
  for (; den % 2 == 0; den /= 2) ++twos;
  for (; den % 5 == 0; den /= 5) ++fives;
  const int places = std::max(twos, fives);
  if (den != 1 || places > 6) return fmt::format("{}/{}", value.num(), value.den());
  return fmt::format("{:.{}f}", value.value(), places);
}

}  // namespace dashlab
