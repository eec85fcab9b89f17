// Seeded test inputs, the same bits everywhere: Philox4x32-10 (Salmon et al., SC 2011) of (seed, tensor,
// element), then integers only up to the last step, which is exact. For host and CUDA device code alike: no
// containers, no libm.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define DASHLAB_HOST_DEVICE __host__ __device__
#else
#define DASHLAB_HOST_DEVICE
#endif

namespace dashlab::seeded {

/// Four 32-bit words of a Philox counter or result.
struct Words {
  std::uint32_t w[4];
};

/// Philox4x32 with 10 rounds.
DASHLAB_HOST_DEVICE constexpr Words philox(Words counter, std::uint64_t key) noexcept {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter.w[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter.w[2];
    counter = Words{{static_cast<std::uint32_t>(b >> 32) ^ counter.w[1] ^ k0, static_cast<std::uint32_t>(b),
                     static_cast<std::uint32_t>(a >> 32) ^ counter.w[3] ^ k1, static_cast<std::uint32_t>(a)}};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

/// Which input a value belongs to.
enum class Stream : std::uint32_t { q = 0, k = 1, v = 2, dout = 3, arrival = 16 };

/// 128 random bits of one element.
DASHLAB_HOST_DEVICE constexpr Words words(std::uint64_t seed, Stream stream, std::uint64_t element) noexcept {
  return philox(Words{{static_cast<std::uint32_t>(element), static_cast<std::uint32_t>(element >> 32),
                       static_cast<std::uint32_t>(stream), 0}},
                seed);
}

/// A nearly normal value (mean about 0, deviation 1, |value| < 6) in units of 2^-18: twelve uniform 10-bit
/// numbers added, eight more random bits below. `element` is the row-major index in [batch, seq, head, dim].
DASHLAB_HOST_DEVICE constexpr std::int32_t normal_q18(std::uint64_t seed, Stream stream,
                                                      std::uint64_t element) noexcept {
  const Words r = words(seed, stream, element);
  std::uint32_t sum = 0;
  std::uint32_t low = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t w = r.w[i];
    sum += (w & 1023u) + (w >> 10 & 1023u) + (w >> 20 & 1023u);
    low = low << 2 | w >> 30;
  }
  return static_cast<std::int32_t>(sum << 8 | low) - 1571456;  // the mean of sum << 8 | low, to a half
}

/// The value as f32: exact, |n| < 2^24.
DASHLAB_HOST_DEVICE constexpr float to_f32(std::int32_t n) noexcept {
  return static_cast<float>(n) * 0x1p-18f;
}

/// |n| rounded to `bits` significant bits, ties to even.
DASHLAB_HOST_DEVICE constexpr std::uint32_t rounded_magnitude(std::int32_t n, int bits) noexcept {
  const std::uint32_t m = static_cast<std::uint32_t>(n < 0 ? -n : n);
  int shift = 0;
  while (m >> shift >= std::uint32_t{1} << bits) ++shift;
  if (shift == 0) return m;
  const std::uint32_t half = std::uint32_t{1} << (shift - 1);
  const std::uint32_t odd = m >> shift & 1u;
  return (m + half - 1 + odd) >> shift << shift;
}

/// Pattern of the value rounded to a float format with `exponent_bias` and `fraction_bits` (bf16: 127, 7;
/// fp16: 15, 10). Values below the format's smallest normal number are multiples of its quantum here, hence
/// exact.
DASHLAB_HOST_DEVICE constexpr std::uint16_t to_16bit(std::int32_t n, int exponent_bias,
                                                     int fraction_bits) noexcept {
  const std::uint32_t sign = n < 0 ? 0x8000u : 0u;
  const std::uint32_t m = rounded_magnitude(n, fraction_bits + 1);
  if (m == 0) return 0;
  int top = 0;  // m has its leading bit here
  while (m >> top > 1u) ++top;
  const int exponent = top - 18 + exponent_bias;
  if (exponent <= 0)  // subnormal: in units of 2^(1 - bias - fraction bits)
    return static_cast<std::uint16_t>(sign | m << (exponent_bias - 1 + fraction_bits - 18));
  const std::uint32_t fraction =
      top >= fraction_bits ? m >> (top - fraction_bits) : m << (fraction_bits - top);
  return static_cast<std::uint16_t>(sign | (static_cast<std::uint32_t>(exponent) << fraction_bits) |
                                    (fraction & ((1u << fraction_bits) - 1)));
}

DASHLAB_HOST_DEVICE constexpr std::uint16_t to_bf16(std::int32_t n) noexcept {
  return to_16bit(n, 127, 7);
}
DASHLAB_HOST_DEVICE constexpr std::uint16_t to_fp16(std::int32_t n) noexcept {
  return to_16bit(n, 15, 10);
}

}  // namespace dashlab::seeded
