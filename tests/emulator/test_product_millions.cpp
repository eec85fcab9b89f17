// The long form of the adversarial test: millions of outputs on every vector unit.
#include <doctest/doctest.h>

#include <string>

#include "dashlab/emulator/selftest.hpp"
#include "dashlab/emulator/simd.hpp"

using namespace dashlab;

TEST_CASE("millions of adversarial outputs have the model's bits on every vector unit") {
  constexpr std::uint64_t outputs = 8'000'000;
  for (const std::string& target : simd_targets()) {
    force_simd_target(target);
    for (const SelfTestResult& result : selftest_fast_paths(outputs)) {
      INFO(target, ", ", result.name, ": ", result.first_difference);
      CHECK(result.cases >= outputs);
      CHECK(result.differ == 0);
    }
  }
  force_simd_target("");
}
