// What makes one backward kernel's bits differ from another's, apart from orders and tile sizes: how rows are
// prepared, how scores become p and ds, how dQ partials are buffered, how results are rounded. Each recipe is
// a small class of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "dashlab/emulator/product.hpp"
#include "dashlab/emulator/tensor.hpp"

namespace dashlab {

/// Element: std::uint16_t for bf16 and fp16 patterns, float for f32.
template <typename Element>
class BackwardRecipe {
 public:
  /// For tensors of `dtype`; `scale` is that of the scores.
  BackwardRecipe(DType dtype, float scale) : dtype_(dtype), scale_(scale) {}
  virtual ~BackwardRecipe() = default;
  BackwardRecipe(const BackwardRecipe&) = delete;
  BackwardRecipe& operator=(const BackwardRecipe&) = delete;

  /// As in recipe_names().
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The log-sum-exp of a row in base 2, as the kernel prepares it.
  [[nodiscard]] virtual float lse_base2(float lse) const = 0;
  /// dpsum of one row: sum of dout * o, in the kernel's own order.
  [[nodiscard]] virtual float row_dot(std::span<const Element> dout, std::span<const Element> o) const = 0;
  /// One row of a tile: scores s (masked: -inf) and dp to p and ds, rounded to the type of the products.
  virtual void probabilities(std::span<float> s, std::span<float> dp, float lse2, float dpsum, Element* p,
                             Element* ds) const = 0;
  /// One row of accumulators to outputs: times scale (dq, dk) or as it is (dv).
  virtual void finish(std::span<const float> accumulator, bool scaled, Element* out) const = 0;
  /// fa2-torch sums dQ in G buffers, kv tile j in buffer j mod G, and the buffers in the end; 0: one buffer.
  [[nodiscard]] virtual std::uint32_t dq_buffers() const { return 0; }

  /// Type of inputs and gradients.
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  /// Scale of the scores.
  [[nodiscard]] float scale() const noexcept { return scale_; }

 private:
  DType dtype_;
  float scale_;
};

/// The tensor-core type of a 16-bit element type.
constexpr InputType input_type(DType type) noexcept {
  return type == DType::f16 ? InputType::fp16 : InputType::bf16;
}

}  // namespace dashlab
