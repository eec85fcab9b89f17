// The packed product against the scalar model, bit for bit, on every vector unit of this machine.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "dashlab/emulator/float_types.hpp"
#include "dashlab/emulator/product.hpp"
#include "dashlab/emulator/selftest.hpp"
#include "dashlab/emulator/simd.hpp"

using namespace dashlab;

namespace {

constexpr std::uint16_t one = 0x3f80;  // bf16

/// Runs on one vector unit, and on the best again afterwards.
class OnTarget {
 public:
  explicit OnTarget(const std::string& name) { force_simd_target(name); }
  ~OnTarget() { force_simd_target(""); }
  OnTarget(const OnTarget&) = delete;
  OnTarget& operator=(const OnTarget&) = delete;
};

std::vector<float> multiply(const MatrixView& a, const MatrixView& b) {
  PackedLeft left;
  PackedRight right;
  left.pack(a, InputType::bf16);
  right.pack(b, InputType::bf16);
  std::vector<float> c(static_cast<std::size_t>(a.rows * b.cols), 99.0f);
  product(left, right, c.data(), b.cols, Start::zero);
  return c;
}

}  // namespace

TEST_CASE("the best vector unit is one of this machine's") {
  const auto targets = simd_targets();
  REQUIRE(!targets.empty());
  CHECK(simd_target() == targets.front());
  CHECK_THROWS_AS(force_simd_target("abacus"), std::invalid_argument);
}

TEST_CASE("adversarial products have the model's bits on every vector unit") {
  for (const std::string& target : simd_targets()) {
    const OnTarget here(target);
    CHECK(simd_target() == target);
    for (const SelfTestResult& result : selftest_fast_paths(300'000)) {
      INFO(target, ", ", result.name, ": ", result.first_difference);
      CHECK(result.cases >= 300'000);
      CHECK(result.differ == 0);
    }
  }
}

TEST_CASE("a product writes its rows and nothing else") {
  const std::vector<std::uint16_t> ones(70 * 20, one);
  PackedLeft left;
  PackedRight right;
  left.pack({ones.data(), 20, 1, 3, 20}, InputType::bf16);
  right.pack({ones.data(), 70, 1, 20, 70}, InputType::bf16);
  constexpr int ldc = 80;
  std::vector<float> c(4 * ldc, -1.0f);
  product(left, right, c.data(), ldc, Start::accumulate);
  for (int m = 0; m < 4; ++m) {
    for (int n = 0; n < ldc; ++n)
      CHECK(c[static_cast<std::size_t>(m * ldc + n)] == (m < 3 && n < 70 ? 19.0f : -1.0f));
  }
}

TEST_CASE("a packed operand can be packed again") {
  const std::vector<std::uint16_t> ones(40 * 40, one);
  PackedLeft left;
  PackedRight right;
  for (const int size : {40, 7, 33}) {
    left.pack({ones.data(), size, 1, size, size}, InputType::bf16);
    right.pack({ones.data(), size, 1, size, size}, InputType::bf16);
    CHECK(left.rows() == size);
    CHECK(right.depth() == size);
    std::vector<float> c(static_cast<std::size_t>(size * size));
    product(left, right, c.data(), size, Start::zero);
    for (const float value : c) CHECK(value == static_cast<float>(size));
  }
}

TEST_CASE("strides in any order give the same product") {
  // A is a matrix inside a larger one, B a transposed one.
  std::vector<std::uint16_t> numbers;
  for (int i = 0; i < 100 * 100; ++i) numbers.push_back(static_cast<std::uint16_t>(0x3f00 + i * 37 % 251));
  const MatrixView a{numbers.data() + 3, 100, 1, 37, 48};
  const MatrixView b{numbers.data() + 11, 1, 100, 48, 67};
  std::vector<std::uint16_t> dense_b;
  for (int k = 0; k < b.rows; ++k) {
    for (int n = 0; n < b.cols; ++n) dense_b.push_back(b.data[k * b.row_stride + n * b.col_stride]);
  }
  const auto direct = multiply(a, b);
  const auto copied = multiply(a, {dense_b.data(), 67, 1, 48, 67});
  CHECK(std::memcmp(direct.data(), copied.data(), direct.size() * sizeof(float)) == 0);
}

TEST_CASE("without depth a product is zero, or what was there") {
  PackedLeft left;
  PackedRight right;
  left.pack({nullptr, 0, 1, 2, 0}, InputType::bf16);
  right.pack({nullptr, 2, 1, 0, 2}, InputType::bf16);
  std::vector<float> c(4, 5.0f);
  product(left, right, c.data(), 2, Start::accumulate);
  CHECK(c == std::vector<float>(4, 5.0f));
  product(left, right, c.data(), 2, Start::zero);
  CHECK(c == std::vector<float>(4, 0.0f));
}

TEST_CASE("operands that don't match are refused") {
  const std::vector<std::uint16_t> ones(64, one);
  PackedLeft left;
  PackedRight right;
  std::vector<float> c(4);
  left.pack({ones.data(), 16, 1, 2, 16}, InputType::bf16);
  right.pack({ones.data(), 2, 1, 32, 2}, InputType::bf16);
  CHECK_THROWS_AS(product(left, right, c.data(), 2, Start::zero), std::invalid_argument);
  right.pack({ones.data(), 2, 1, 16, 2}, InputType::fp16);
  CHECK_THROWS_AS(product(left, right, c.data(), 2, Start::zero), std::invalid_argument);
}

TEST_CASE("the ieee product is a chain of fmas, k ascending") {
  // 1 + 2^-24 twice: each one is lost to the even neighbour in order, both count when they come first.
  const std::vector<float> a{1.0f, 0x1p-24f, 0x1p-24f};
  const std::vector<float> ones{1.0f, 1.0f, 1.0f};
  float c = 0.0f;
  product_ieee({a.data(), 3, 1, 1, 3}, {ones.data(), 1, 1, 3, 1}, &c, 1, Start::zero);
  CHECK(c == 1.0f);
  const std::vector<float> reversed{0x1p-24f, 0x1p-24f, 1.0f};
  product_ieee({reversed.data(), 3, 1, 1, 3}, {ones.data(), 1, 1, 3, 1}, &c, 1, Start::zero);
  CHECK(c == 1.0f + 0x1p-23f);
}

TEST_CASE("the ieee product has a scalar loop's bits on every vector unit") {
  std::vector<float> a;
  std::vector<float> b;
  std::uint32_t bits = 1;
  const auto next = [&] { return float_of((bits = bits * 1664525u + 1013904223u) & 0xbfffffffu); };
  constexpr int rows = 5, depth = 37, cols = 83;
  for (int i = 0; i < rows * depth; ++i) a.push_back(next());
  for (int i = 0; i < depth * cols; ++i) b.push_back(next());
  std::vector<float> expected(rows * cols, 0.25f);
  for (int m = 0; m < rows; ++m) {
    for (int n = 0; n < cols; ++n) {
      float& sum = expected[static_cast<std::size_t>(m * cols + n)];
      for (int k = 0; k < depth; ++k) {
        sum = std::fma(a[static_cast<std::size_t>(m * depth + k)], b[static_cast<std::size_t>(n * depth + k)],
                       sum);
      }
    }
  }
  for (const std::string& target : simd_targets()) {
    const OnTarget here(target);
    std::vector<float> c(expected.size(), 0.25f);
    product_ieee({a.data(), depth, 1, rows, depth}, {b.data(), 1, depth, depth, cols}, c.data(), cols,
                 Start::accumulate);
    CHECK(std::memcmp(c.data(), expected.data(), c.size() * sizeof(float)) == 0);
  }
}
