// Schedule files: the round trip is the identity, and everything malformed is one clear error.
#include <doctest/doctest.h>

#include <filesystem>

#include "dashlab/core/error.hpp"
#include "dashlab/core/schedule_file.hpp"
#include "dashlab/core/whole_file.hpp"
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

TEST_CASE("Text that is no JSON is named by line and column, with what belongs there") {
  const auto message = [](std::string_view text) {
    try {
      parse_schedule(text, "f");
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const std::string value = "a value: a number, a text in double quotes, a list or an object";
  CHECK(message("") == "f:1:1: no JSON: expected " + value + ", but the file ends");
  CHECK(message("{\n  \"a\": tru\n}") == "f:2:11: no JSON: expected " + value);
  CHECK(message("{\"a\" 1}") == "f:1:6: no JSON: expected a colon after the key");
  CHECK(message("{\"a\": 1\n\n \"b\": 2}") == "f:3:4: no JSON: expected a comma or }");
  CHECK(message("{\"a\": [1 2]}") == "f:1:10: no JSON: expected a comma or ]");
  CHECK(message("{\"a\": [1,") == "f:1:10: no JSON: expected " + value + ", but the file ends");
  CHECK(message("{\"a\": 1,}") == "f:1:9: no JSON: expected a key in double quotes");
  CHECK(message("{} x") == "f:1:4: no JSON: expected nothing more, the value is complete");
  CHECK(message("{\"a\": 1e999}") == "f: a number in it lies beyond 1e308; write a smaller one");
  // What the file says is never taken for what the parser says.
  CHECK(message("[\"a\" invalid string") == "f:1:6: no JSON: expected a comma or ]");
  CHECK(
      message("{\"a\": \"b\n\"}").starts_with("f:1:9: no JSON: expected a text in UTF-8 that ends with \""));
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

TEST_CASE("A file is written where its symbolic links lead, and the links stay") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "aim");
  std::filesystem::create_symlink("aim/second", folder / "first");
  std::filesystem::create_symlink("third", folder / "aim" / "second");
  for (const char* content : {"new", "newer"}) {
    write_file(folder / "first", content);
    CHECK(read_file(folder / "aim" / "third") == content);
    CHECK(std::filesystem::is_symlink(folder / "first"));
    CHECK(std::filesystem::is_symlink(folder / "aim" / "second"));
  }
  std::filesystem::create_symlink("circle", folder / "circle");
  CHECK_THROWS_AS(write_file(folder / "circle", ""), BadInput);
  std::filesystem::create_symlink("/dev/null", folder / "device");
  CHECK_THROWS_AS(write_file(folder / "device", ""), BadInput);
}

TEST_CASE("A file that is never completed leaves nothing, and an older one stays") {
  const TemporaryFolder folder;
  write_file(folder / "x", "old");
  {
    WholeFile file(folder / "x");
    file.write("new");
    CHECK(read_file(folder / "x") == "old");
  }
  CHECK(read_file(folder / "x") == "old");
  write_file(folder / std::string(255, 'x'), "the longest name of a Linux file");
  const auto files = std::filesystem::directory_iterator(folder.path());
  CHECK(std::distance(begin(files), end(files)) == 2);
}
