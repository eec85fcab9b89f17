// Schedule files: the round trip is the identity, and everything malformed is one clear error.
#include <doctest/doctest.h>

#include <filesystem>

#include "dashlab/core/error.hpp"
#include "dashlab/core/schedule_file.hpp"
#include "planning.hpp"
#include "temporary_folder.hpp"

using namespace dashlab;
using namespace dashlab::test;

namespace {

void check_round_trip(const Plan& plan) {
  const std::string text = format_schedule(plan.problem, plan.schedule);
  const ScheduleFile read = parse_schedule(text, "round trip");
  CHECK(read.problem == plan.problem);
  CHECK(read.schedule == plan.schedule);
  CHECK(format_schedule(read.problem, read.schedule) == text);
}

const std::string by_hand = R"({
  // Two kv tiles on two SMs, the second one shifted.
  "format": "dashlab.schedule/1",
  "problem": {"mask": "full", "tiles": 2},
  "sms": 2,
  "chains": [
    [{"head": 0, "kv": 0, "q": [0, 1]}],  /* SM 0 */
    [{"head": 0, "kv": 1, "q": [1, 0]}]
  ],
  "reduce": [
    {"head": 0, "q": 0, "kv": [0, 1]},
    {"head": 0, "q": 1, "kv": [1, 0]}
  ]
})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("Writing and reading gives the same schedule, for every name, mask, grouping and placement") {
  for (const std::string_view name : schedule_names()) {
    for (const char* mask : {"full", "causal", "window:2,1", "documents:3,0,3", "documents:3f,3f"}) {
      for (GroupMode group : {GroupMode::per_head, GroupMode::gathered}) {
        Problem p = tile_problem(6, 6, 4, parse_mask(mask));
        p.kv_heads = 2;
        p.batch = 2;
        try {
          check_round_trip(Plan(p, std::string(name), 5, group));
        } catch (const BadInput&) {
          CHECK((name == "shift" || name == "shift-spread" || name == "symmetric-shift"));
        }
      }
    }
  }
  Problem p;
  p.seqlen_q = 300;
  p.seqlen_k = 500;
  p.tile_q = 64;
  p.head_dim = 96;
  p.mask = CausalMask{};
  check_round_trip(Plan(p, "spt", 132));
}

TEST_CASE("A file made by hand, with comments, is read and valid") {
  const ScheduleFile file = parse_schedule(by_hand, "by hand");
  const TileMap tiles(file.problem);
  CHECK(verify(file.problem, tiles, file.schedule).valid);
  CHECK(simulate(file.problem, tiles, file.schedule, costs(1, {1, 4})).makespan_units() == Rational(5, 2));
}

TEST_CASE("Malformed files name the place") {
  const auto refuse = [](const std::string& text, const char* part) {
    CHECK_THROWS_WITH_AS(parse_schedule(text, "file.json"), doctest::Contains(part), BadInput);
    CHECK_THROWS_WITH_AS(parse_schedule(text, "file.json"), doctest::Contains("file.json"), BadInput);
  };
  refuse("", "no JSON");
  refuse("[]", "must be an object");
  refuse("{\"format\": 3}", "format: must be a text");
  refuse(replaced(by_hand, "schedule/1", "schedule/2"), "format");
  refuse(replaced(by_hand, "\"sms\": 2", "\"sms\": 0"), "sms: must be at least 1");
  refuse(replaced(by_hand, "\"sms\": 2", "\"sms\": 1"), "has 2 lists for 1 SMs");
  refuse(replaced(by_hand, "\"sms\": 2", "\"sms\": 2.5"), "sms: must be a whole number");
  refuse(replaced(by_hand, "\"sms\": 2", "\"sms\": 18446744073709551615"), "out of range");
  refuse(replaced(by_hand, "\"sms\": 2", "\"sms\": 2, \"sms\": 2"), "\"sms\" stands twice");
  refuse(replaced(by_hand, "\"sms\"", "\"smss\""), "unknown key \"smss\"");
  refuse(replaced(by_hand, "\"kv\": 1, \"q\": [1, 0]", "\"kv\": 2, \"q\": [1, 0]"),
         "chains[1][0].kv: 2 is out of range (0..1)");
  refuse(replaced(by_hand, "\"q\": [1, 0]", "\"q\": [1, -1]"), "chains[1][0].q[1]: -1 is out of range");
  refuse(replaced(by_hand, "\"q\": [1, 0]", "\"q\": [1, \"0\"]"), "must be a whole number");
  refuse(replaced(by_hand, "\"head\": 0, \"kv\": 1", "\"head\": 1, \"kv\": 1"),
         "chains[1][0].head: 1 is out of range");
  refuse(replaced(by_hand, "\"q\": 1, \"kv\": [1, 0]", "\"q\": 0, \"kv\": [1, 0]"),
         "the same row stands at reduce[0]");
  refuse(replaced(by_hand, "\"tiles\": 2", "\"tiles\": -2"), "problem");
  refuse(replaced(by_hand, "\"mask\": \"full\"", "\"mask\": \"fool\""), "problem: --mask 'fool'");
  refuse(replaced(by_hand, "\"reduce\"", "\"group_reduce\""), "\"reduce\" is missing");
}

TEST_CASE("Ten megabytes of brackets, or of nested objects, are one clear error") {
  CHECK_THROWS_WITH_AS(parse_schedule(std::string(10'000'000, '['), "deep.json"),
                       doctest::Contains("nested too deeply"), BadInput);
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  CHECK_THROWS_WITH_AS(parse_schedule(objects, "deep.json"), doctest::Contains("nested too deeply"),
                       BadInput);
}

TEST_CASE("A file is written whole or not at all") {
  const Plan plan(tile_problem(3, 3, 1, FullMask{}), "shift", 3);
  CHECK_THROWS_AS(write_schedule("no-such-folder/x.json", plan.problem, plan.schedule), BadInput);
  CHECK_THROWS_AS(write_schedule("/dev/null", plan.problem, plan.schedule), BadInput);
  CHECK_THROWS_AS(write_schedule("/dev/full/x", plan.problem, plan.schedule), BadInput);
  const TemporaryFolder folder;
  write_schedule(folder / "written.json", plan.problem, plan.schedule);
  CHECK(read_schedule(folder / "written.json").schedule == plan.schedule);
  write_schedule(folder / "written.json", plan.problem, plan.schedule);  // replaces the file
  const auto files = std::filesystem::directory_iterator(folder.path());
  CHECK(std::distance(begin(files), end(files)) == 1);
}
