// Matrix products: the entry to the fast kernel, and the scalar yardstick.
#include "dashlab/emulator/product.hpp"

#include <stdexcept>
#include <vector>

#include "dashlab/emulator/tensor_core.hpp"
#include "packed_layout.hpp"

namespace dashlab {
namespace {

/// rows x padded depth, zeros behind each row.
std::vector<std::uint16_t> padded_rows(const MatrixView& view) {
  const auto depth = static_cast<std::size_t>(detail::blocks_of(view.cols, step_depth)) * step_depth;
  std::vector<std::uint16_t> rows(static_cast<std::size_t>(view.rows) * depth, 0);
  for (int r = 0; r < view.rows; ++r) {
    for (int k = 0; k < view.cols; ++k) {
      rows[static_cast<std::size_t>(r) * depth + static_cast<std::size_t>(k)] =
          view.data[r * view.row_stride + k * view.col_stride];
    }
  }
  return rows;
}

}  // namespace

void PackedLeft::pack(const MatrixView& a, InputType type) {
  data_.type = type;
  data_.extent = a.rows;
  data_.depth = a.cols;
  detail::pack_left(a, data_);
}

void PackedRight::pack(const MatrixView& b, InputType type) {
  data_.type = type;
  data_.extent = b.cols;
  data_.depth = b.rows;
  detail::pack_right(b, data_);
}

void product(const PackedLeft& a, const PackedRight& b, float* c, std::ptrdiff_t ldc, Start start) {
  if (a.depth() != b.depth() || a.data().type != b.data().type) {
    throw std::invalid_argument("product: the operands differ in depth or type");
  }
  const detail::RoundTowardZero rounding;
  detail::run_product(a.data(), b.data(), c, ldc, start);
}

void product_reference(const MatrixView& a, const MatrixView& b, InputType type, float* c, std::ptrdiff_t ldc,
                       Start start) {
  if (a.cols != b.rows) throw std::invalid_argument("product_reference: depths differ");
  const std::vector<std::uint16_t> rows = padded_rows(a);
  const std::vector<std::uint16_t> columns = padded_rows(b.transposed());
  const auto depth = static_cast<std::size_t>(detail::blocks_of(a.cols, step_depth)) * step_depth;
  for (int m = 0; m < a.rows; ++m) {
    for (int n = 0; n < b.cols; ++n) {
      float& element = c[m * ldc + n];
      element = tensor_core_chain({rows.data() + static_cast<std::size_t>(m) * depth, depth},
                                  {columns.data() + static_cast<std::size_t>(n) * depth, depth},
                                  start == Start::zero ? 0.0f : element, type);
    }
  }
}

}  // namespace dashlab
