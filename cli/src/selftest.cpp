// `dashlab selftest`: does this machine compute what an H200 computed?
#include "dashlab/emulator/selftest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "commands.hpp"
#include "dashlab/emulator/simd.hpp"

namespace dashlab::cli {
namespace {

nlohmann::ordered_json to_json(const std::vector<SelfTestResult>& results) {
  nlohmann::ordered_json json{{"format", "dashlab.selftest/1"}, {"simd", simd_target()}};
  json["checks"] = nlohmann::ordered_json::array();
  for (const SelfTestResult& result : results) {
    nlohmann::ordered_json entry{{"name", result.name}, {"cases", result.cases}, {"differ", result.differ}};
    if (result.differ != 0) entry["first"] = result.first_difference;
    json["checks"].push_back(std::move(entry));
  }
  return json;
}

void print(const std::vector<SelfTestResult>& results) {
  fmt::print("vector unit: {}\n", simd_target());
  for (const SelfTestResult& result : results) {
    fmt::print("{:<40} {:>10} cases, {} differ\n", result.name, result.cases, result.differ);
    if (result.differ != 0) fmt::print("  first: {}\n", result.first_difference);
  }
}

}  // namespace

void add_selftest(CLI::App& app, Context& context) {
  struct Options {
    std::optional<std::string> vectors;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("selftest", "Check the arithmetic of this machine against recorded facts");
  command->add_option("--vectors", o->vectors,
                      "recorded tensor-core vectors, e.g. tests/data/hopper/tensor_core_vectors.bin");
  command->add_flag("--json", o->json, "print dashlab.selftest/1");
  command->footer("Example: dashlab selftest --vectors tests/data/hopper/tensor_core_vectors.bin");
  command->callback([o, &context] {
    const std::vector<SelfTestResult> results = selftest(o->vectors);
    if (o->json) {
      fmt::print("{}\n", to_json(results).dump(2));
    } else {
      print(results);
    }
    const bool differ =
        std::any_of(results.begin(), results.end(), [](const auto& r) { return r.differ != 0; });
    context.exit_code = differ ? exit_different : exit_done;
  });
}

}  // namespace dashlab::cli
