// Exact fractions for costs and times, so that makespans can be compared with `==`.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace dashlab {

/// num/den in lowest terms, den > 0. Arithmetic throws BadInput when a result leaves 64 bits.
class Rational {
 public:
  constexpr Rational() = default;
  /// whole/1.
  constexpr Rational(std::int64_t whole) : num_(whole) {}  // NOLINT(google-explicit-constructor)
  /// num/den, reduced. Throws BadInput for den = 0.
  Rational(std::int64_t num, std::int64_t den);

  /// Numerator, with the sign.
  [[nodiscard]] constexpr std::int64_t num() const noexcept { return num_; }
  /// Denominator, > 0.
  [[nodiscard]] constexpr std::int64_t den() const noexcept { return den_; }
  /// The nearest double, or nearly.
  [[nodiscard]] double value() const noexcept {
    return static_cast<double>(num_) / static_cast<double>(den_);
  }

  /// Exact.
  friend Rational operator+(const Rational& a, const Rational& b);
  /// Exact.
  friend Rational operator-(const Rational& a, const Rational& b);
  /// Exact.
  friend Rational operator*(const Rational& a, const Rational& b);
  /// Exact. Throws BadInput for b = 0.
  friend Rational operator/(const Rational& a, const Rational& b);
  friend bool operator==(const Rational& a, const Rational& b) noexcept = default;
  friend std::strong_ordering operator<=>(const Rational& a, const Rational& b) noexcept;

 private:
  std::int64_t num_ = 0;
  std::int64_t den_ = 1;
};

/// Reads "3", "0.25", "2.5e-1" or "1/4" exactly. `what` names the value in the BadInput that bad text raises.
Rational parse_rational(std::string_view text, std::string_view what);

/// "6.25" where the decimal expansion ends within six places, else "19/3".
std::string to_string(const Rational& value);

}  // namespace dashlab
