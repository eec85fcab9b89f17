// One interface over the two kinds of matrix product: packed 16-bit operands on the tensor-core model, and
// f32 operands on fused multiply-add chains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dashlab/emulator/product.hpp"
#include "dashlab/emulator/tensor.hpp"

namespace dashlab {

/// A row-major f32 operand of its own.
class FloatOperand {
 public:
  void pack(const FloatMatrixView& m) {
    rows_ = m.rows;
    cols_ = m.cols;
    values_.resize(static_cast<std::size_t>(m.rows) * static_cast<std::size_t>(m.cols));
    float* out = values_.data();
    for (int i = 0; i < m.rows; ++i)
      for (int j = 0; j < m.cols; ++j) *out++ = m.data[i * m.row_stride + j * m.col_stride];
  }
  [[nodiscard]] FloatMatrixView view() const noexcept { return {values_.data(), cols_, 1, rows_, cols_}; }

 private:
  std::vector<float> values_;
  int rows_ = 0;
  int cols_ = 0;
};

template <typename Element>
struct Operands;

template <>
struct Operands<std::uint16_t> {
  using Left = PackedLeft;
  using Right = PackedRight;
  static MatrixView view(const std::uint16_t* data, std::ptrdiff_t row_stride, int rows, int cols) {
    return {data, row_stride, 1, rows, cols};
  }
  static MatrixView transposed(const std::uint16_t* data, std::ptrdiff_t row_stride, int rows, int cols) {
    return view(data, row_stride, rows, cols).transposed();
  }
  template <typename Operand>
  static void pack(Operand& operand, const MatrixView& view, DType dtype) {
    operand.pack(view, dtype == DType::f16 ? InputType::fp16 : InputType::bf16);
  }
  static void multiply(const Left& a, const Right& b, float* c, std::ptrdiff_t ldc, Start start) {
    product(a, b, c, ldc, start);
  }
  static const std::uint16_t* data(const TensorView& tensor) { return tensor.u16(); }
  static std::uint16_t* data(Tensor& tensor) { return tensor.u16(); }
};

template <>
struct Operands<float> {
  using Left = FloatOperand;
  using Right = FloatOperand;
  static FloatMatrixView view(const float* data, std::ptrdiff_t row_stride, int rows, int cols) {
    return {data, row_stride, 1, rows, cols};
  }
  static FloatMatrixView transposed(const float* data, std::ptrdiff_t row_stride, int rows, int cols) {
    return view(data, row_stride, rows, cols).transposed();
  }
  static void pack(FloatOperand& operand, const FloatMatrixView& view, DType) { operand.pack(view); }
  static void multiply(const Left& a, const Right& b, float* c, std::ptrdiff_t ldc, Start start) {
    product_ieee(a.view(), b.view(), c, ldc, start);
  }
  static const float* data(const TensorView& tensor) { return tensor.f32(); }
  static float* data(Tensor& tensor) { return tensor.f32(); }
};

}  // namespace dashlab
