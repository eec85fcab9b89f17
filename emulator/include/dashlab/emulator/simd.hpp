// Which vector instructions the fast paths use. The choice is made at run time and never changes a bit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dashlab {

/// The one in use, in Highway's words: "AVX3" (AVX-512), "AVX2", "SSE4", "SSSE3", "NEON", "SCALAR", ...
[[nodiscard]] std::string simd_target();

/// All that are compiled in and that this CPU can run, best first.
[[nodiscard]] std::vector<std::string> simd_targets();

/// Forces one of simd_targets(), for tests and benchmarks; an empty name goes back to the best. Not to be
/// called while another thread computes. Throws std::invalid_argument for any other name.
void force_simd_target(std::string_view name);

}  // namespace dashlab
