// The rare paths of .ftz arithmetic, and CUDA's accurate expf and logf.
#include "dashlab/emulator/scalar_math.hpp"

#include <algorithm>

#include "dashlab/emulator/special_functions.hpp"

namespace dashlab {

float detail::flush_tiny_fma(float a, float b, float c, float result) noexcept {
  const float zero = float_of(bits_of(result) & 0x80000000u);
  if (std::abs(result) < smallest_normal) return zero;
  // Exactly 2^-126, perhaps rounded up from below: 2^64 further up the same sum is rounded to 24 bits. A sum
  // this small has |a * b| and |c| far below 1, so that nothing overflows when the smaller factor is scaled.
  constexpr float scale = 0x1p64f;
  if (std::abs(a) > std::abs(b)) std::swap(a, b);
  const float rounded = std::fma(a * scale, b, c * scale);
  return std::abs(rounded) < smallest_normal * scale ? zero : result;
}

float exp_accurate(float x) noexcept {
  // n = floor(252 * clamp(x * log2(e) / 252 + 1/2, 0, 1)) - 126; the clamp turns NaN into 0.
  constexpr float log2e_over_252 = 0x1.77313ap-8f;  // 0x3bbb989d
  constexpr float log2e_high = 0x1.715476p+0f;      // 0x3fb8aa3b
  constexpr float log2e_low = 0x1.4ae0cp-26f;       // 0x32a57060
  const float position = std::fma(x, log2e_over_252, 0.5f);
  const float clamped = position > 0.0f ? std::min(position, 1.0f) : 0.0f;
  // The product is exact in double; nvcc's fma.rm with a magic addend is this floor.
  const auto steps = static_cast<int>(std::floor(static_cast<double>(clamped) * 252.0));
  const auto exponent = static_cast<float>(steps - 126);
  const float remainder = std::fma(x, log2e_low, std::fma(x, log2e_high, -exponent));
  const float scale = float_of(static_cast<std::uint32_t>(steps + 1) << 23);
  return mul(ex2_approx_ftz(remainder), scale);
}

float log_accurate(float x) noexcept {
  // x = m * 2^e with m in [2/3, 4/3); log(x) = e * log(2) + polynomial in m - 1.
  const bool small = x < detail::smallest_normal;
  const float scaled = small ? x * 0x1p23f : x;
  const std::uint32_t bits = bits_of(scaled);
  if (scaled == 0.0f) return float_of(0xff800000u);
  if (bits >= 0x7f800000u) return fma(scaled, float_of(0x7f800000u), float_of(0x7f800000u));
  const std::uint32_t exponent_bits = (bits - 0x3f2aaaabu) & 0xff800000u;
  const float m = float_of(bits - exponent_bits) - 1.0f;
  const float exponent =
      std::fma(static_cast<float>(static_cast<std::int32_t>(exponent_bits)), 0x1p-23f, small ? -23.0f : 0.0f);
  constexpr std::uint32_t coefficients[] = {0xbe055027u, 0x3e1039f6u, 0xbdf8cdccu, 0x3e0f2955u, 0xbe2ad8b9u,
                                            0x3e4ced0bu, 0xbe7fff22u, 0x3eaaaa78u, 0xbf000000u};
  float polynomial = float_of(coefficients[0]);
  for (std::size_t i = 1; i < std::size(coefficients); ++i) {
    polynomial = std::fma(polynomial, m, float_of(coefficients[i]));
  }
  const float of_mantissa = std::fma(m * polynomial, m, m);
  constexpr std::uint32_t log_of_2 = 0x3f317218u;
  return std::fma(exponent, float_of(log_of_2), of_mantissa);
}

}  // namespace dashlab
