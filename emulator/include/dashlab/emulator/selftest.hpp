// Checks of the arithmetic on the machine at hand, against what an H200 gave: the special functions' CRCs
// over all significands, recorded tensor-core vectors, and the fast paths against the plain ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dashlab {

/// One check: how many cases it tried and how many differed.
struct SelfTestResult {
  std::string name;
  std::uint64_t cases = 0;
  std::uint64_t differ = 0;
  std::string first_difference;  ///< one line; empty when nothing differs
};

/// The CRC-32 of each special function's results over all significands. A wrong CRC counts as one difference.
[[nodiscard]] std::vector<SelfTestResult> selftest_special_functions();

/// Recorded vectors (format: docs/numerics.md, section 1) through the scalar model and through product().
/// Throws BadInput for a file that isn't one or can't be read.
[[nodiscard]] std::vector<SelfTestResult> selftest_vectors(const std::filesystem::path& file);

/// Seeded random and adversarial blocks: product() against product_reference(), array ex2 against scalar ex2.
[[nodiscard]] std::vector<SelfTestResult> selftest_fast_paths(std::uint64_t outputs);

/// All of the above; the vectors only where a file is given.
[[nodiscard]] std::vector<SelfTestResult> selftest(const std::optional<std::filesystem::path>& vectors);

}  // namespace dashlab
