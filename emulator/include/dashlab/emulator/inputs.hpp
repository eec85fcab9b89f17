// Seeded q, k, v and do: the same bits on every platform and on the GPU (seeded_values.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dashlab/emulator/attention.hpp"
#include "dashlab/emulator/parallel.hpp"

namespace dashlab {

/// Owns what its view shows.
struct SeededInputs {
  Tensor q, k, v, dout;
  /// q, k, v and dout; o and lse are empty.
  [[nodiscard]] AttentionInputs view() const { return {q.view(), k.view(), v.view(), dout.view(), {}, {}}; }
};

/// Nearly normal values, mean 0, deviation 1, rounded to `dtype` (to nearest even).
SeededInputs make_inputs(const Problem& problem, DType dtype, std::uint64_t seed, const RunControl& control);

/// "hopper-bf16", "hopper-fp16" and "ieee-fp32" name the input type of a run. Throws BadInput for other
/// names.
DType profile_dtype(std::string_view profile);
std::string_view profile_name(DType dtype);

/// SHA-256 of the bytes, 64 hex digits.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace dashlab
