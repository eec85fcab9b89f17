// Coefficients of the special-function unit's quadratic interpolation, one set for each segment.
#pragma once

#include <array>
#include <cstdint>

namespace dashlab::detail {

struct Coefficients {
  std::int32_t c0;
  std::int32_t c1;
  std::int32_t c2;
};

extern const std::array<Coefficients, 64> ex2_coefficients;
extern const std::array<Coefficients, 64> lg2_coefficients;
extern const std::array<Coefficients, 128> rcp_coefficients;
extern const std::array<Coefficients, 128> rsqrt_coefficients;

/// The same numbers of ex2 in 32-bit words, for gathering: c1 is below 2^16, c2 below 2^10.
struct Ex2Words {
  std::array<std::uint32_t, 64> c0;
  std::array<std::uint32_t, 64> c1_c2;  ///< c1 | c2 << 16
};
extern const Ex2Words ex2_words;

}  // namespace dashlab::detail
