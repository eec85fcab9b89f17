// Names and choice of vector units.
#include "dashlab/emulator/simd.hpp"

#include "src/simd_targets.hpp"
//
#include <hwy/highway.h>

#include <cstdint>
#include <stdexcept>

namespace dashlab {
namespace {

/// The unit of the lowest bit: Highway numbers them best first.
std::int64_t first_of(std::int64_t targets) {
  return targets & -targets;
}

}  // namespace

std::string simd_target() {
  return hwy::TargetName(first_of(hwy::SupportedTargets() & HWY_TARGETS));
}

std::vector<std::string> simd_targets() {
  const std::int64_t forced = hwy::SupportedTargets();
  hwy::SetSupportedTargetsForTest(0);
  std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  if (forced != hwy::SupportedTargets()) hwy::SetSupportedTargetsForTest(forced);
  std::vector<std::string> names;
  for (; targets != 0; targets &= targets - 1) names.emplace_back(hwy::TargetName(first_of(targets)));
  return names;
}

void force_simd_target(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  while (!name.empty() && targets != 0 && name != hwy::TargetName(first_of(targets))) targets &= targets - 1;
  if (targets == 0) throw std::invalid_argument("force_simd_target: not a vector unit of this machine");
  if (!name.empty()) hwy::SetSupportedTargetsForTest(first_of(targets));
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace dashlab
