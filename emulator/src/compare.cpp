#include "dashlab/emulator/compare.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "dashlab/core/error.hpp"

namespace dashlab {

namespace {

bool is_nan(std::uint32_t bits, DType type) {
  switch (type) {
    case DType::bf16:
      return (bits & 0x7fffu) > 0x7f80u;
    case DType::f16:
      return (bits & 0x7fffu) > 0x7c00u;
    case DType::f32:
      break;
  }
  return (bits & 0x7fffffffu) > 0x7f800000u;
}

}  // namespace

std::uint64_t ulp_distance(std::uint32_t a, std::uint32_t b, DType type) {
  const std::uint32_t sign = type == DType::f32 ? 0x80000000u : 0x8000u;
  const auto place = [sign](std::uint32_t bits) {
    const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
    return (bits & sign) != 0 ? -magnitude : magnitude;
  };
  const std::int64_t distance = place(a) - place(b);
  return static_cast<std::uint64_t>(distance < 0 ? -distance : distance);
}

Comparison compare(const std::string& name, const TensorView& a, const TensorView& b) {
  if (a.dtype != b.dtype || a.shape != b.shape)
    throw BadInput(
        fmt::format("tensor '{}': {} {} cannot be compared with {} {}; compare runs of one problem", name,
                    to_string(a.dtype), to_string(a.shape), to_string(b.dtype), to_string(b.shape)));
  Comparison result;
  result.elements = a.elements();
  if (result.elements == 0 || std::memcmp(a.data, b.data, a.size_bytes()) == 0) return result;
  for (std::int64_t i = 0; i < result.elements; ++i) {
    const std::uint32_t x = a.bits(i);
    const std::uint32_t y = b.bits(i);
    if (x == y) continue;
    if (result.differ++ == 0) result.first = i;
    if (is_nan(x, a.dtype) || is_nan(y, a.dtype)) {
      ++result.nan_differ;
      continue;
    }
    const std::uint64_t distance = ulp_distance(x, y, a.dtype);
    result.largest_ulp = std::max(result.largest_ulp, distance);
    ++result.ulp_histogram[static_cast<std::size_t>(std::bit_width(distance))];
  }
  return result;
}

std::vector<std::int64_t> unravel(const Shape& shape, std::int64_t i) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = i % shape[d];
    i /= shape[d];
  }
  return index;
}

std::string describe(const TensorView& tensor, std::int64_t i) {
  return fmt::format("0x{:0{}x} ({:.9g})", tensor.bits(i), 2 * size_of(tensor.dtype), tensor.value(i));
}

}  // namespace dashlab
