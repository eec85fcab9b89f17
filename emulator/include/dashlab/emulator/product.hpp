// Tensor-core matrix products on the CPU, bit for bit: C (+)= A B in k16 steps (docs/numerics.md, section 1).
// Operands are packed once and reused; the vector width is chosen at run time and never changes a bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dashlab/emulator/aligned.hpp"
#include "dashlab/emulator/float_types.hpp"

namespace dashlab {

/// A rows x cols matrix of 16-bit values somewhere in memory; strides in elements, any sign of transposition.
struct MatrixView {
  const std::uint16_t* data = nullptr;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t col_stride = 1;
  int rows = 0;
  int cols = 0;

  /// The same memory with rows and columns exchanged.
  [[nodiscard]] MatrixView transposed() const noexcept { return {data, col_stride, row_stride, cols, rows}; }
};

/// Where a chain of k16 steps starts: from +0 or from the values already in C.
enum class Start : std::uint8_t { zero, accumulate };

namespace detail {

enum class StepState : std::int32_t;

/// A packed operand's memory. The layout is the kernel's own affair (emulator/src/packed_layout.hpp).
template <typename Byte>
struct PackedData {
  InputType type = InputType::bf16;
  int extent = 0;  ///< rows of a left operand, columns of a right one
  int depth = 0;
  int steps = 0;
  AlignedVector<float> values;
  AlignedVector<Byte> bytes;
  AlignedVector<std::uint16_t> bits;
  AlignedVector<std::int32_t> top;
  AlignedVector<StepState> state;
};
using LeftData = PackedData<std::uint32_t>;
using RightData = PackedData<std::uint8_t>;

}  // namespace detail

/// Left operand A (m x k), packed for the product kernel. k is padded with zeros to a multiple of 16.
/// Takes about ten bytes an element.
class PackedLeft {
 public:
  /// Copies and prepares `a`; memory of an earlier pack is reused.
  void pack(const MatrixView& a, InputType type);
  /// Rows, as packed.
  [[nodiscard]] int rows() const noexcept { return data_.extent; }
  /// Columns, before padding.
  [[nodiscard]] int depth() const noexcept { return data_.depth; }
  /// For the kernels.
  [[nodiscard]] const detail::LeftData& data() const noexcept { return data_; }

 private:
  detail::LeftData data_;
};

/// Right operand B (k x n), packed likewise; about seven bytes an element.
class PackedRight {
 public:
  /// Copies and prepares `b`; memory of an earlier pack is reused.
  void pack(const MatrixView& b, InputType type);
  /// Columns, as packed.
  [[nodiscard]] int cols() const noexcept { return data_.extent; }
  /// Rows, before padding.
  [[nodiscard]] int depth() const noexcept { return data_.depth; }
  /// For the kernels.
  [[nodiscard]] const detail::RightData& data() const noexcept { return data_; }

 private:
  detail::RightData data_;
};

/// C (m x n, row-major, `ldc` floats from row to row) = chain over k of A B, k ascending in steps of 16.
/// Not parallel inside; callers run tiles in parallel. Throws std::invalid_argument when depths or types
/// differ.
void product(const PackedLeft& a, const PackedRight& b, float* c, std::ptrdiff_t ldc, Start start);

/// The same with the plain scalar model of one step, the yardstick of every fast path.
void product_reference(const MatrixView& a, const MatrixView& b, InputType type, float* c, std::ptrdiff_t ldc,
                       Start start);

/// The profile ieee-fp32: C = chain over k of fma(a, b, c), k ascending one by one; NaNs as 0x7fffffff. f32
/// operands.
struct FloatMatrixView {
  const float* data = nullptr;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t col_stride = 1;
  int rows = 0;
  int cols = 0;

  /// The same memory with rows and columns exchanged.
  [[nodiscard]] FloatMatrixView transposed() const noexcept {
    return {data, col_stride, row_stride, cols, rows};
  }
};
void product_ieee(const FloatMatrixView& a, const FloatMatrixView& b, float* c, std::ptrdiff_t ldc,
                  Start start);

}  // namespace dashlab
