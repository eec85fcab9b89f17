// Seeded matrix products made to hurt: every style of operand that can take another path through the product
// kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "dashlab/emulator/product.hpp"

namespace dashlab::detail {

/// C (+)= A B, ready for product() and product_reference().
struct AdversarialProduct {
  InputType type;
  int rows, cols, depth;
  std::vector<std::uint16_t> a, b;
  std::vector<float> c;
  bool a_transposed, b_transposed;  ///< stored column by column
  Start start;
  const char* style;

  [[nodiscard]] MatrixView left() const noexcept;
  [[nodiscard]] MatrixView right() const noexcept;
};

/// The same product for the same seed on every machine.
[[nodiscard]] AdversarialProduct make_adversarial(std::uint64_t seed);

}  // namespace dashlab::detail
