// Tensors of attention as plain memory: an element type, a shape and bytes, owned or only seen.
// Activations are [batch, seq, head, dim], log-sum-exp is [batch, head, seq], both row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dashlab {

/// Element types that the emulator computes with.
enum class DType : std::uint8_t { bf16, f16, f32 };

/// Bytes of one element.
constexpr std::size_t size_of(DType type) noexcept {
  return type == DType::f32 ? 4 : 2;
}

/// "BF16", "F16" or "F32", as safetensors spells them.
std::string_view to_string(DType type) noexcept;

using Shape = std::vector<std::int64_t>;

/// Product of the extents; 1 for an empty shape.
std::int64_t count(const Shape& shape) noexcept;

/// "[2, 333, 2, 64]".
std::string to_string(const Shape& shape);

/// A tensor in somebody else's memory: contiguous, row-major, aligned for its element type.
struct TensorView {
  DType dtype = DType::f32;
  Shape shape;
  const std::byte* data = nullptr;

  /// Number of elements.
  [[nodiscard]] std::int64_t elements() const noexcept { return count(shape); }
  /// Number of bytes.
  [[nodiscard]] std::size_t size_bytes() const noexcept {
    return static_cast<std::size_t>(elements()) * size_of(dtype);
  }
  /// All bytes, in memory order.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data, size_bytes()}; }
  /// Sees no memory.
  [[nodiscard]] bool empty() const noexcept { return data == nullptr; }

  /// The elements as 16-bit patterns (BF16, F16).
  [[nodiscard]] const std::uint16_t* u16() const noexcept {
    return reinterpret_cast<const std::uint16_t*>(data);
  }
  /// The elements as floats (F32).
  [[nodiscard]] const float* f32() const noexcept { return reinterpret_cast<const float*>(data); }
  /// Bit pattern of one element, widened.
  [[nodiscard]] std::uint32_t bits(std::int64_t i) const noexcept;
  /// Value of one element, exactly.
  [[nodiscard]] float value(std::int64_t i) const noexcept;
};

/// A tensor that owns its memory, cleared to zero bytes at birth and aligned to 64 bytes.
class Tensor {
 public:
  Tensor() = default;
  /// Zeros of this type and shape.
  Tensor(DType dtype, Shape shape);
  /// A copy of what `view` sees.
  static Tensor copy_of(const TensorView& view);

  /// A view that lives as long as this tensor.
  [[nodiscard]] TensorView view() const { return {dtype_, shape_, data_.get()}; }
  /// Element type.
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  /// Extents, outermost first.
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  /// Holds no memory.
  [[nodiscard]] bool empty() const noexcept { return data_ == nullptr; }
  /// The first byte.
  [[nodiscard]] std::byte* data() noexcept { return data_.get(); }
  /// The elements as 16-bit patterns (BF16, F16).
  [[nodiscard]] std::uint16_t* u16() noexcept { return reinterpret_cast<std::uint16_t*>(data_.get()); }
  /// The elements as floats (F32).
  [[nodiscard]] float* f32() noexcept { return reinterpret_cast<float*>(data_.get()); }

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept;
  };
  DType dtype_ = DType::f32;
  Shape shape_;
  std::unique_ptr<std::byte[], Free> data_;
};

}  // namespace dashlab
