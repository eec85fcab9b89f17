// Conversions of arrays between f32 and the 16-bit types.
#include "dashlab/emulator/float_types.hpp"

#include <stdexcept>

namespace dashlab {

void convert(std::span<const float> from, std::span<std::uint16_t> to, InputType type) {
  if (from.size() != to.size()) throw std::invalid_argument("convert: the arrays differ in length");
  if (type == InputType::bf16) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = bf16_from_float(from[i]);
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = fp16_from_float(from[i]);
  }
}

void convert(std::span<const std::uint16_t> from, std::span<float> to, InputType type) {
  if (from.size() != to.size()) throw std::invalid_argument("convert: the arrays differ in length");
  if (type == InputType::bf16) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = float_from_bf16(from[i]);
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = float_from_fp16(from[i]);
  }
}

}  // namespace dashlab
