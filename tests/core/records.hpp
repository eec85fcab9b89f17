// The exact makespans of tests/data/schedules/expected.json: simulations and proven optima by another
// program.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "planning.hpp"

namespace dashlab::test {

struct Record {
  std::string text;  ///< the record as it stands in the file
  std::string schedule;
  Problem problem;
  std::uint32_t sms = 0;
  Costs costs;
  Rational makespan;
  std::optional<Rational> packing_bound;  ///< of proven optima
};

inline std::string mask_text(const nlohmann::json& instance) {
  const std::string mask = instance["mask"];
  if (mask == "window") return "window:" + std::to_string(instance["window"].get<int>()) + ",0";
  if (mask != "docs") return mask;
  std::string text = "documents:";
  for (int length : instance["docs"]) text += std::to_string(length) + ",";
  text.pop_back();
  return text;
}

inline std::vector<Record> schedule_records() {
  std::ifstream in(DASHLAB_TEST_DATA "/schedules/expected.json");
  std::vector<Record> records;
  for (const auto& json : nlohmann::json::parse(in)) {
    const auto number = [&](const char* key) { return parse_rational(json[key].dump(), key); };
    const auto& instance = json["instance"];
    std::optional<Rational> packing_bound;
    if (json.contains("packing_bound")) packing_bound = number("packing_bound");
    records.push_back(
        {json.dump(), json["schedule"],
         tile_problem(instance["n_q"], instance["n_kv"], instance["heads"], parse_mask(mask_text(instance))),
         instance["sms"], costs(number("compute"), number("reduce")), number("makespan"), packing_bound});
  }
  return records;
}

}  // namespace dashlab::test
