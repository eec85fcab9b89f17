// Matrix products by the scalar model.
#include "dashlab/emulator/product.hpp"

#include <algorithm>
#include <stdexcept>

#include "dashlab/emulator/scalar_math.hpp"
#include "dashlab/emulator/tensor_core.hpp"

namespace dashlab {
namespace {

int padded(int depth) { return (depth + step_depth - 1) / step_depth * step_depth; }

/// rows x padded depth, zeros behind each row.
void copy_rows(const MatrixView& view, std::vector<std::uint16_t>& to) {
  const auto depth = static_cast<std::size_t>(padded(view.cols));
  to.assign(static_cast<std::size_t>(view.rows) * depth, 0);
  for (int r = 0; r < view.rows; ++r) {
    for (int k = 0; k < view.cols; ++k) {
      to[static_cast<std::size_t>(r) * depth + static_cast<std::size_t>(k)] =
          view.data[r * view.row_stride + k * view.col_stride];
    }
  }
}

}  // namespace

void PackedLeft::pack(const MatrixView& a, InputType type) {
  type_ = type;
  rows_ = a.rows;
  depth_ = a.cols;
  padded_depth_ = padded(depth_);
  copy_rows(a, bits_);
}

void PackedRight::pack(const MatrixView& b, InputType type) {
  type_ = type;
  cols_ = b.cols;
  depth_ = b.rows;
  padded_depth_ = padded(depth_);
  copy_rows(b.transposed(), bits_);
}

void product(const PackedLeft& a, const PackedRight& b, float* c, std::ptrdiff_t ldc, Start start) {
  if (a.depth_ != b.depth_ || a.type_ != b.type_) throw std::invalid_argument("product: operands don't match");
  const auto depth = static_cast<std::size_t>(a.padded_depth_);
  for (int m = 0; m < a.rows_; ++m) {
    for (int n = 0; n < b.cols_; ++n) {
      float& element = c[m * ldc + n];
      element = tensor_core_chain({a.bits_.data() + static_cast<std::size_t>(m) * depth, depth},
                                  {b.bits_.data() + static_cast<std::size_t>(n) * depth, depth},
                                  start == Start::zero ? 0.0f : element, a.type_);
    }
  }
}

void product_reference(const MatrixView& a, const MatrixView& b, InputType type, float* c, std::ptrdiff_t ldc,
                       Start start) {
  if (a.cols != b.rows) throw std::invalid_argument("product_reference: depths differ");
  std::vector<std::uint16_t> rows;
  std::vector<std::uint16_t> columns;
  copy_rows(a, rows);
  copy_rows(b.transposed(), columns);
  const auto depth = static_cast<std::size_t>(padded(a.cols));
  for (int m = 0; m < a.rows; ++m) {
    for (int n = 0; n < b.cols; ++n) {
      float& element = c[m * ldc + n];
      element = tensor_core_chain({rows.data() + static_cast<std::size_t>(m) * depth, depth},
                                  {columns.data() + static_cast<std::size_t>(n) * depth, depth},
                                  start == Start::zero ? 0.0f : element, type);
    }
  }
}

void product_ieee(const FloatMatrixView& a, const FloatMatrixView& b, float* c, std::ptrdiff_t ldc, Start start) {
  if (a.cols != b.rows) throw std::invalid_argument("product_ieee: depths differ");
  for (int m = 0; m < a.rows; ++m) {
    for (int n = 0; n < b.cols; ++n) {
      float value = start == Start::zero ? 0.0f : c[m * ldc + n];
      for (int k = 0; k < a.cols; ++k) {
        value = std::fma(a.data[m * a.row_stride + k * a.col_stride], b.data[k * b.row_stride + n * b.col_stride],
                         value);
      }
      c[m * ldc + n] = canonical(value);
    }
  }
}

const char* simd_target() { return "scalar"; }

}  // namespace dashlab
