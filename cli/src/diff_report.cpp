#include "diff_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace dashlab::cli {

namespace {

/// The distances in bucket b of a ULP histogram.
std::string bucket_name(std::size_t b) {
  if (b == 0) return "+0 and -0";
  const std::uint64_t low = std::uint64_t{1} << (b - 1);
  return b == 1 ? "1 ULP" : fmt::format("{}..{} ULP", low, 2 * low - 1);
}

}  // namespace

TensorDiff diff_tensor(const std::string& name, const TensorView& a, const TensorView& b) {
  return {name, a, b, compare(name, a, b), ""};
}

bool all_equal(const std::vector<TensorDiff>& diffs) {
  return std::all_of(diffs.begin(), diffs.end(),
                     [](const TensorDiff& d) { return d.comparison.differ == 0; });
}

void print_diffs(const std::vector<TensorDiff>& diffs) {
  for (const TensorDiff& diff : diffs) {
    const Comparison& c = diff.comparison;
    fmt::print("{}: {} elements, {} differ\n", diff.name, c.elements, c.differ);
    if (c.differ == 0) continue;
    for (std::size_t b = 0; b < c.ulp_histogram.size(); ++b)
      if (c.ulp_histogram[b] != 0) fmt::print("  {:>20}: {}\n", bucket_name(b), c.ulp_histogram[b]);
    if (c.nan_differ != 0) fmt::print("  {:>20}: {}\n", "NaN on one side", c.nan_differ);
    fmt::print("  first at {}[{}]: A {}, B {}\n", diff.name, fmt::join(unravel(diff.a.shape, c.first), ", "),
               describe(diff.a, c.first), describe(diff.b, c.first));
    if (!diff.trace.empty()) fmt::print("  {}\n", diff.trace);
  }
}

nlohmann::ordered_json to_json(const std::vector<TensorDiff>& diffs) {
  nlohmann::ordered_json json{{"equal", all_equal(diffs)}};
  for (const TensorDiff& diff : diffs) {
    const Comparison& c = diff.comparison;
    nlohmann::ordered_json entry{{"elements", c.elements}, {"differ", c.differ}};
    if (c.differ != 0) {
      entry["largest_ulp"] = c.largest_ulp;
      entry["nan_differ"] = c.nan_differ;
      for (std::size_t b = 0; b < c.ulp_histogram.size(); ++b)
        if (c.ulp_histogram[b] != 0)
          entry["ulp_histogram"].push_back(
              {{"from", b == 0 ? 0 : std::uint64_t{1} << (b - 1)}, {"count", c.ulp_histogram[b]}});
      entry["first"] = {{"index", unravel(diff.a.shape, c.first)},
                        {"a", describe(diff.a, c.first)},
                        {"b", describe(diff.b, c.first)}};
      if (!diff.trace.empty()) entry["first"]["trace"] = diff.trace;
    }
    json[diff.name] = std::move(entry);
  }
  return json;
}

}  // namespace dashlab::cli
