// Tensors: names, counts, and memory that starts as zero.
#include "dashlab/emulator/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <new>

namespace dashlab {

namespace {

constexpr std::align_val_t tensor_alignment{64};

/// Exact value of an IEEE half, subnormals and NaN included.
float half_value(std::uint32_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31u;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

}  // namespace

std::string_view to_string(DType type) noexcept {
  switch (type) {
    case DType::bf16:
      return "BF16";
    case DType::f16:
      return "F16";
    case DType::f32:
      break;
  }
  return "F32";
}

std::int64_t count(const Shape& shape) noexcept {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::uint32_t TensorView::bits(std::int64_t i) const noexcept {
  if (dtype != DType::f32) return u16()[i];
  return std::bit_cast<std::uint32_t>(f32()[i]);
}

float TensorView::value(std::int64_t i) const noexcept {
  switch (dtype) {
    case DType::bf16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(u16()[i]) << 16);
    case DType::f16:
      return half_value(u16()[i]);
    case DType::f32:
      break;
  }
  return f32()[i];
}

void Tensor::Free::operator()(std::byte* p) const noexcept {
  ::operator delete[](p, tensor_alignment);
}

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
  const std::size_t bytes = static_cast<std::size_t>(count(shape_)) * size_of(dtype_);
  data_.reset(static_cast<std::byte*>(::operator new[](bytes == 0 ? 1 : bytes, tensor_alignment)));
  std::memset(data_.get(), 0, bytes);
}

Tensor Tensor::copy_of(const TensorView& view) {
  Tensor copy(view.dtype, view.shape);
  if (view.size_bytes() != 0) std::memcpy(copy.data(), view.data, view.size_bytes());
  return copy;
}

}  // namespace dashlab
