// Two tensors, bit by bit: how many elements differ, where first, and by how many units in the last place.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dashlab/emulator/tensor.hpp"

namespace dashlab {

/// Equality is equality of bytes: -0 is not +0, and NaNs are equal only if their patterns are.
struct Comparison {
  std::int64_t elements = 0;
  std::int64_t differ = 0;
  std::int64_t first = -1;      ///< row-major index of the first difference, -1 if none
  std::int64_t nan_differ = 0;  ///< differing elements of which one is NaN; they are in no ULP bucket
  std::uint64_t largest_ulp = 0;
  /// Bucket 0: +0 against -0. Bucket b >= 1: distances 2^(b-1) .. 2^b - 1 in units in the last place of the
  /// type.
  std::array<std::int64_t, 34> ulp_histogram{};
};

/// Both of the same type and shape; BadInput with `name` in it otherwise.
Comparison compare(const std::string& name, const TensorView& a, const TensorView& b);

/// Distance of two patterns on the line of representable numbers; +0 and -0 are the same point.
std::uint64_t ulp_distance(std::uint32_t a, std::uint32_t b, DType type);

/// Row-major index to one index per dimension.
std::vector<std::int64_t> unravel(const Shape& shape, std::int64_t i);

/// "0x3f80 (1)": pattern and value of an element.
std::string describe(const TensorView& tensor, std::int64_t i);

}  // namespace dashlab
