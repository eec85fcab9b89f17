// Perfetto traces: slices nest, flows follow the reduce orders, counters count, names are escaped, gzip is
// gzip.
#include <doctest/doctest.h>
#include <zlib.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "dashlab/core/whole_file.hpp"
#include "dashlab/viz/perfetto.hpp"
#include "planned.hpp"
#include "toy_run.hpp"

using namespace dashlab;
using nlohmann::json;

namespace {

json trace_of(const Timeline& timeline, double us_per_unit = 0) {
  const viz::TraceRun run{&timeline, "", us_per_unit};
  return json::parse(viz::perfetto_json({&run, 1}))["traceEvents"];
}

std::int64_t nanoseconds(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

// On each track, sorted by start, the longer one first, every slice ends before its parent does.
bool slices_nest(const json& events) {
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> tracks;
  for (const json& event : events)
    if (event["ph"] == "X") {
      const auto start = nanoseconds(event["ts"]);
      tracks[{event["pid"], event["tid"]}].emplace_back(start, start + nanoseconds(event["dur"]));
    }
  for (auto& [track, slices] : tracks) {
    std::sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<std::int64_t> open;
    for (const auto& [start, end] : slices) {
      while (!open.empty() && open.back() <= start) open.pop_back();
      if (!open.empty() && open.back() < end) return false;
      open.push_back(end);
    }
  }
  return true;
}

}  // namespace

TEST_CASE("the slices of one track nest, also with overlap and with odd fractions") {
  CHECK(slices_nest(trace_of(Planned("descending", tile_problem(8, 8, 3, CausalMask{}), 8).timeline)));
  CHECK(slices_nest(trace_of(toy::full(6, 6, 2, {7, 5, 1}), 1.0 / 3)));
  Costs jittered;
  jittered.jitter = Jitter{0.3, 7};
  CHECK(slices_nest(trace_of(Planned("spt", tile_problem(9, 9, 2, CausalMask{}), 4, jittered).timeline, 1)));
}

TEST_CASE("a trace holds every phase at its time, with fractions of microseconds") {
  const Planned planned("ascending", tile_problem(3, 3, 1, CausalMask{}), 3);
  const json events = trace_of(planned.timeline, 0.5);
  std::size_t computes = 0, reduces = 0, waits = 0;
  for (const json& event : events) {
    if (event["ph"] != "X") continue;
    const std::string name = event["name"];
    if (name == "q 2" && event["args"]["kv"] == 1) {
      // By hand: SM 1 computes q 1 in 0..1, waits for kv 0 (its q 1 runs 1.25..2.25, its add to 2.5), adds
      // until 2.75, then computes q 2 in 2.75..3.75.
      CHECK(nanoseconds(event["ts"]) == 1375);
      CHECK(nanoseconds(event["dur"]) == 500);
    }
    computes += name.starts_with("q ") ? 1 : 0;
    reduces += name.starts_with("reduce") ? 1 : 0;
    waits += name.starts_with("wait") ? 1 : 0;
  }
  CHECK(computes == 6);
  CHECK(reduces == 6);
  CHECK(waits > 0);
}

TEST_CASE("flow arrows follow each reduce order from first to last") {
  const Planned planned("shift", tile_problem(4, 4, 2, FullMask{}), 4);
  std::map<std::string, std::vector<std::pair<std::int64_t, std::string>>> flows;
  const json events = trace_of(planned.timeline);
  for (const json& event : events)
    if (const std::string kind = event["ph"]; kind == "s" || kind == "t" || kind == "f")
      flows[event["id"]].emplace_back(nanoseconds(event["ts"]), kind);
  CHECK(flows.size() == 8);
  for (const auto& [id, steps] : flows) {
    CHECK(steps.size() == 4);
    CHECK(std::is_sorted(steps.begin(), steps.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; }));
    CHECK(steps.front().second == "s");
    CHECK(steps.back().second == "f");
  }
}

TEST_CASE("counters give the busy and the waiting SMs at every moment") {
  const Planned planned("ascending", tile_problem(3, 3, 1, CausalMask{}), 3);
  std::map<std::string, std::map<std::int64_t, int>> counters;
  for (const json& event : trace_of(planned.timeline, 1))
    if (event["ph"] == "C") counters[event["name"]][nanoseconds(event["ts"])] = event["args"]["value"];
  const auto at = [&](const char* name, std::int64_t ns) {
    return std::prev(counters[name].upper_bound(ns))->second;
  };
  CHECK(at("busy SMs", 500) == 3);      // all three compute
  CHECK(at("waiting SMs", 1500) == 2);  // SM 1 waits for kv 0 in row 1, SM 2 for kv 1 in row 2
  CHECK(at("busy SMs", 1500) == 1);
  CHECK(at("busy SMs", 1'000'000) == 0);
  CHECK(at("waiting SMs", 1'000'000) == 0);
}

TEST_CASE("two runs stand side by side, and names are escaped") {
  const Timeline predicted = toy::causal(3, 1);
  Timeline measured = predicted;
  measured.unit = "us";
  measured.ticks_per_unit = 2;
  const std::string name = "a \"quoted\" \\name\n</x>";
  const viz::TraceRun runs[] = {{&predicted, name, viz::matching_us_per_unit(predicted, measured)},
                                {&measured, "gpu", 0}};
  const json events = json::parse(viz::perfetto_json(runs))["traceEvents"];
  std::map<int, std::string> names;
  std::map<int, std::int64_t> ends;
  for (const json& event : events) {
    if (event["name"] == "process_name") names[event["pid"]] = event["args"]["name"];
    if (event["ph"] == "X")
      ends[event["pid"]] = std::max(ends[event["pid"]], nanoseconds(event["ts"]) + nanoseconds(event["dur"]));
  }
  CHECK(names[1] == "a \"quoted\" \\name </x>");
  CHECK(names[2] == "gpu");
  CHECK(ends[1] == ends[2]);  // the same phases at the matching scale
}

TEST_CASE("gzip gives back what went in, and a name in .gz is compressed") {
  const Timeline timeline = toy::causal(4, 2);
  const viz::TraceRun run{&timeline, "", 0};
  const std::string plain = viz::perfetto_json({&run, 1});
  const auto path = std::filesystem::temp_directory_path() / "dashlab-test-trace.json.gz";
  CHECK(viz::write_perfetto(path, {&run, 1}) == path);
  const std::string packed = read_file(path);
  std::filesystem::remove(path);
  CHECK(packed == viz::gzip(plain));
  std::string unpacked(plain.size() + 1, '\0');
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(unpacked.data());
  stream.avail_out = static_cast<uInt>(unpacked.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  inflateEnd(&stream);
  unpacked.resize(stream.total_out);
  CHECK(unpacked == plain);
}
