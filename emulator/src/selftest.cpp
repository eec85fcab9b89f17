// The checks behind `dashlab selftest`.
#include "dashlab/emulator/selftest.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cstring>
#include <fstream>
#include <vector>

#include "adversarial.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/emulator/float_types.hpp"
#include "dashlab/emulator/product.hpp"
#include "dashlab/emulator/special_functions.hpp"
#include "dashlab/emulator/tensor_core.hpp"

namespace dashlab {
namespace {

/// CRC-32 over the little-endian bits of result_of(i) for i = 0 .. count-1, count being a multiple of the
/// chunk.
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
    result.first_difference = fmt::format("CRC-32 is {:08x}, an H200 gives {:08x}", crc, expected);
  }
  return result;
}

constexpr std::uint32_t significands = 1u << 23;
float with_exponent(std::uint32_t fraction, std::uint32_t field) {
  return float_of((field << 23) | fraction);
}

/// Counts one comparison; `where` makes the text for the first difference.
template <typename Where>
void count(SelfTestResult& result, float got, float expected, Where where) {
  ++result.cases;
  if (bits_of(got) == bits_of(expected)) return;
  if (result.differ++ == 0) {
    result.first_difference =
        fmt::format("{}: {:08x}, should be {:08x}", where(), bits_of(got), bits_of(expected));
  }
}

/// One recorded chain of k16 steps.
struct Vector {
  std::uint32_t config, style;
  InputType type;
  float c, d;
  std::vector<std::uint16_t> a, b;
};

std::uint32_t little_endian(const unsigned char* from, int bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= std::uint32_t{from[i]} << (8 * i);
  return value;
}

std::vector<Vector> read_vectors(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file)) {
    throw BadInput(
        fmt::format("{}: cannot be read; give a file of recorded tensor-core vectors", file.string()));
  }
  const std::vector<char> content{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const auto* at = reinterpret_cast<const unsigned char*>(content.data());
  const auto* const end = at + content.size();
  std::vector<Vector> vectors;
  const auto fail = [&](const char* what) {
    throw BadInput(fmt::format("{}: {} in record {}; give a file of recorded tensor-core vectors",
                               file.string(), what, vectors.size()));
  };
  while (at != end) {
    constexpr std::ptrdiff_t head_bytes = 16;
    if (end - at < head_bytes) fail("half a header");
    const std::uint32_t h0 = little_endian(at, 4);
    const std::uint32_t h1 = little_endian(at + 4, 4);
    const std::uint32_t depth = h0 >> 16;
    if (depth == 0 || depth % step_depth != 0 || depth > 4096) fail("a depth that is no multiple of 16");
    if ((h1 >> 8) > 1) fail("an unknown input type");
    if (end - at < head_bytes + std::ptrdiff_t{depth} * 4) fail("too few operands");
    Vector v{h0 & 0xffffu,
             h1 & 0xffu,
             (h1 >> 8) == 0 ? InputType::bf16 : InputType::fp16,
             float_of(little_endian(at + 8, 4)),
             float_of(little_endian(at + 12, 4)),
             {},
             {}};
    at += head_bytes;
    for (auto* operand : {&v.a, &v.b}) {
      operand->resize(depth);
      for (std::uint16_t& bits : *operand) {
        bits = static_cast<std::uint16_t>(little_endian(at, 2));
        at += 2;
      }
    }
    vectors.push_back(std::move(v));
  }
  if (vectors.empty()) fail("nothing");
  return vectors;
}

}  // namespace

std::vector<SelfTestResult> selftest_special_functions() {
  std::vector<SelfTestResult> results;
  results.push_back(check_crc("ex2 over [1, 2)", significands, 0x676486cd,
                              [](std::uint32_t i) { return ex2_approx_ftz(with_exponent(i, 127)); }));
  std::vector<float> powers(significands);
  for (std::uint32_t j = 0; j < significands; ++j) powers[j] = with_exponent(j, 127);
  ex2_approx_ftz(powers, powers);
  results.push_back(check_crc("ex2 over [1, 2), in lanes", significands, 0x676486cd,
                              [&](std::uint32_t j) { return powers[j]; }));
  results.push_back(check_crc("rcp over [1, 2)", significands, 0xa9f2ecfc,
                              [](std::uint32_t i) { return rcp_approx_ftz(with_exponent(i, 127)); }));
  results.push_back(check_crc("lg2 over [1, 2)", significands, 0x15f1d460,
                              [](std::uint32_t i) { return lg2_approx_ftz(with_exponent(i, 127)); }));
  results.push_back(check_crc("lg2 over [1/2, 1)", significands, 0x1852a07c,
                              [](std::uint32_t i) { return lg2_approx_ftz(with_exponent(i, 126)); }));
  results.push_back(check_crc("rsqrt over [1, 4)", 2 * significands, 0x9d0587e4, [](std::uint32_t i) {
    return rsqrt_approx_ftz(with_exponent(i & (significands - 1), 127 + (i >> 23)));
  }));
  return results;
}

std::vector<SelfTestResult> selftest_vectors(const std::filesystem::path& file) {
  SelfTestResult scalar{"tensor-core vectors, scalar model", 0, 0, {}};
  SelfTestResult kernel{"tensor-core vectors, product kernel", 0, 0, {}};
  PackedLeft left;
  PackedRight right;
  for (const Vector& v : read_vectors(file)) {
    const auto where = [&] {
      return fmt::format("vector {} ({}, config {}, style {}, K {})", scalar.cases - 1, name_of(v.type),
                         v.config, v.style, v.a.size());
    };
    count(scalar, tensor_core_chain(v.a, v.b, v.c, v.type), v.d, where);
    const int depth = static_cast<int>(v.a.size());
    left.pack({v.a.data(), depth, 1, 1, depth}, v.type);
    right.pack({v.b.data(), 1, 1, depth, 1}, v.type);
    float d = v.c;
    product(left, right, &d, 1, Start::accumulate);
    count(kernel, d, v.d, where);
  }
  return {scalar, kernel};
}

std::vector<SelfTestResult> selftest_fast_paths(std::uint64_t outputs) {
  SelfTestResult products{"product kernel, adversarial blocks", 0, 0, {}};
  PackedLeft left;
  PackedRight right;
  std::vector<float> expected;
  for (std::uint64_t seed = 0; products.cases < outputs; ++seed) {
    detail::AdversarialProduct p = detail::make_adversarial(seed);
    expected = p.c;
    product_reference(p.left(), p.right(), p.type, expected.data(), p.cols, p.start);
    left.pack(p.left(), p.type);
    right.pack(p.right(), p.type);
    product(left, right, p.c.data(), p.cols, p.start);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      count(products, p.c[i], expected[i], [&] {
        return fmt::format("seed {} ({}, {} x {} x {}, {}), element {}", seed, p.style, p.rows, p.cols,
                           p.depth, name_of(p.type), i);
      });
    }
  }

  SelfTestResult powers{"ex2 of arrays", 0, 0, {}};
  std::vector<float> arguments(4096 + 7);  // not a multiple of any vector
  std::vector<float> results(arguments.size());
  std::uint32_t bits = 0;
  while (powers.cases < outputs) {
    for (float& x : arguments) x = float_of(bits += 2654435761u);  // odd: runs through all bit patterns
    ex2_approx_ftz(arguments, results);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      count(powers, results[i], ex2_approx_ftz(arguments[i]),
            [&] { return fmt::format("ex2 of {:08x}", bits_of(arguments[i])); });
    }
  }
  return {products, powers};
}

std::vector<SelfTestResult> selftest(const std::optional<std::filesystem::path>& vectors) {
  constexpr std::uint64_t random_outputs = 2'000'000;
  std::vector<SelfTestResult> results;
  const auto append = [&](std::vector<SelfTestResult> more) {
    for (SelfTestResult& result : more) results.push_back(std::move(result));
  };
  if (vectors) append(selftest_vectors(*vectors));  // a bad file is reported before the long checks
  append(selftest_special_functions());
  append(selftest_fast_paths(random_outputs));
  return results;
}

}  // namespace dashlab
