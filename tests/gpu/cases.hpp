// One validated run as data: the flags' names, the seed, and the digests of its results. Read and written as
// JSON (format "dashlab.digests/1") by `dashlab gpu --record`, the tests and the validation tool.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "dashlab/core/problem_fields.hpp"
#include "dashlab/core/schedule.hpp"
#include "dashlab/core/tile_map.hpp"
#include "dashlab/emulator/inputs.hpp"
#include "dashlab/emulator/recipes.hpp"

namespace dashlab::test {

/// Seeded inputs, o and lse by the recipe's own forward, default scale.
struct DigestCase {
  ProblemFields fields;
  std::string profile = "hopper-bf16";
  std::string schedule = "ascending";
  std::string group = "per-head";
  std::uint32_t sms = 132;
  std::uint64_t seed = 0;
  std::map<std::string, std::string> sha256;  ///< dq, dk, dv, o, lse

  [[nodiscard]] GroupMode group_mode() const {
    return group == "gathered" ? GroupMode::gathered : GroupMode::per_head;
  }
};

inline nlohmann::ordered_json to_json(const DigestCase& c) {
  nlohmann::ordered_json json{{"profile", c.profile}, {"mask", c.fields.mask.value_or("full")}};
  for (const auto& [name, member] : problem_number_fields)
    if (c.fields.*member) json[std::string(name)] = *(c.fields.*member);
  json["schedule"] = c.schedule;
  json["group"] = c.group;
  json["sms"] = c.sms;
  json["seed"] = c.seed;
  if (!c.sha256.empty()) json["sha256"] = c.sha256;
  return json;
}

inline DigestCase digest_case(const nlohmann::ordered_json& json) {
  DigestCase c;
  c.profile = json.at("profile");
  c.fields.mask = json.at("mask").get<std::string>();
  for (const auto& [name, member] : problem_number_fields)
    if (json.contains(name)) c.fields.*member = json.at(std::string(name)).get<std::int64_t>();
  c.schedule = json.at("schedule");
  c.group = json.at("group");
  c.sms = json.at("sms");
  c.seed = json.at("seed");
  if (json.contains("sha256")) c.sha256 = json.at("sha256").get<std::map<std::string, std::string>>();
  return c;
}

inline std::vector<DigestCase> read_cases(const std::string& path) {
  std::ifstream in(path);
  const auto file = nlohmann::ordered_json::parse(in);
  std::vector<DigestCase> out;
  for (const auto& json : file.at("cases")) out.push_back(digest_case(json));
  return out;
}

/// "hopper-bf16 causal seqlen 77 ...": for messages.
inline std::string describe(const DigestCase& c) {
  DigestCase bare = c;
  bare.sha256.clear();
  return to_json(bare).dump();
}

/// The problem whose tiles the forward recipe uses; a block mask is tied to the tiles of the backward pass.
inline Problem forward_problem(const Problem& problem) {
  Problem forward = problem;
  if (std::holds_alternative<BlocksMask>(problem.mask)) return forward;
  const TileShape tiles = recipe_tiles("dashlab", Pass::forward, problem);
  forward.tile_q = tiles.q;
  forward.tile_kv = tiles.kv;
  return forward;
}

inline std::map<std::string, std::string> digests(const Gradients& g, const ForwardResult& f) {
  return {{"dq", sha256(g.dq.view().bytes())},
          {"dk", sha256(g.dk.view().bytes())},
          {"dv", sha256(g.dv.view().bytes())},
          {"o", sha256(f.o.view().bytes())},
          {"lse", sha256(f.lse.view().bytes())}};
}

}  // namespace dashlab::test
