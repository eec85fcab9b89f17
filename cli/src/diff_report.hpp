// Two sets of tensors side by side, for `diff` and `crosscheck`.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dashlab/emulator/compare.hpp"

namespace dashlab::cli {

/// One tensor of both sides. `trace` says where the sums part, if that is known.
struct TensorDiff {
  std::string name;
  TensorView a, b;
  Comparison comparison;
  std::string trace;
};

/// Compares `name` of both sides.
TensorDiff diff_tensor(const std::string& name, const TensorView& a, const TensorView& b);

/// Counts, ULP histogram and first difference of each tensor.
void print_diffs(const std::vector<TensorDiff>& diffs);
nlohmann::ordered_json to_json(const std::vector<TensorDiff>& diffs);
bool all_equal(const std::vector<TensorDiff>& diffs);

}  // namespace dashlab::cli
