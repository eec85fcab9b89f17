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

}  // namespace dashlab::detail
