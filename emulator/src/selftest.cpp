// The checks behind `dashlab selftest`.
#include "dashlab/emulator/selftest.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <fstream>
#include <functional>
#include <iterator>

#include "dashlab/core/error.hpp"
#include "dashlab/emulator/float_types.hpp"
#include "dashlab/emulator/special_functions.hpp"
#include "dashlab/emulator/tensor_core.hpp"

namespace dashlab {
namespace {

/// CRC-32 over the little-endian bits of function(argument(i)) for i = 0 .. count-1.
template <typename Function>
SelfTestResult check_crc(const char* name, std::uint32_t count, std::uint32_t expected, Function result_of) {
  constexpr std::uint32_t chunk = 1u << 16;
  std::vector<unsigned char> bytes(std::size_t{chunk} * 4);
  uLong crc = crc32(0L, Z_NULL, 0);
  for (std::uint32_t begin = 0; begin < count; begin += chunk) {
    for (std::uint32_t i = 0; i < chunk; ++i) {
      const std::uint32_t bits = bits_of(result_of(begin + i));
      for (std::uint32_t b = 0; b < 4; ++b) bytes[i * 4 + b] = static_cast<unsigned char>(bits >> (8 * b));
    }
    crc = crc32(crc, bytes.data(), static_cast<uInt>(bytes.size()));
  }
  SelfTestResult result{name, count, 0, {}};
  if (crc != expected) {
    result.differ = 1;
    result.first_difference = fmt::format("CRC-32 {:08x}, the GPU gives {:08x}", crc, expected);
  }
  return result;
}

constexpr std::uint32_t significands = 1u << 23;
float with_exponent(std::uint32_t fraction, std::uint32_t field) { return float_of((field << 23) | fraction); }

}  // namespace

std::vector<SelfTestResult> selftest_special_functions() {
  std::vector<SelfTestResult> results;
  results.push_back(check_crc("ex2 of [1, 2)", significands, 0x676486cd,
                              [](std::uint32_t i) { return ex2_approx_ftz(with_exponent(i, 127)); }));
  results.push_back(check_crc("rcp of [1, 2)", significands, 0xa9f2ecfc,
                              [](std::uint32_t i) { return rcp_approx_ftz(with_exponent(i, 127)); }));
  results.push_back(check_crc("lg2 of [1, 2)", significands, 0x15f1d460,
                              [](std::uint32_t i) { return lg2_approx_ftz(with_exponent(i, 127)); }));
  results.push_back(check_crc("lg2 of [1/2, 1)", significands, 0x1852a07c,
                              [](std::uint32_t i) { return lg2_approx_ftz(with_exponent(i, 126)); }));
  results.push_back(check_crc("rsqrt of [1, 4)", 2 * significands, 0x9d0587e4, [](std::uint32_t i) {
    return rsqrt_approx_ftz(with_exponent(i & (significands - 1), 127 + (i >> 23)));
  }));
  return results;
}

}  // namespace dashlab
