// ex2 over arrays.
#include <stdexcept>

#include "dashlab/emulator/special_functions.hpp"

namespace dashlab {

void ex2_approx_ftz(std::span<const float> from, std::span<float> to) {
  if (from.size() != to.size()) throw std::invalid_argument("ex2_approx_ftz: the arrays differ in length");
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = ex2_approx_ftz(from[i]);
}

}  // namespace dashlab
