// Timelines as pictures: what the SVG says against what the plan says.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <thread>

#include "dashlab/core/error.hpp"
#include "dashlab/viz/bubbles.hpp"
#include "dashlab/viz/timeline_picture.hpp"
#include "planned.hpp"
#include "svg_facts.hpp"
#include "toy_run.hpp"

using namespace dashlab;
using viz::PictureFormat;

namespace {

std::string svg_of(const Timeline& timeline) {
  return viz::draw_timeline(timeline).bytes(PictureFormat::svg);
}

// "head 0, q 3, kv 2: compute 1.25 to 2.25 c on SM 1".
std::string title_of(const TaskSpan& task, Phase phase, std::int64_t per_unit) {
  const auto time = [&](std::int64_t ticks) { return to_string(Rational(ticks, per_unit)); };
  const std::string what = "head " + std::to_string(index(task.head)) + ", q " +
                           std::to_string(index(task.q)) + ", kv " + std::to_string(index(task.kv));
  return phase == Phase::compute
             ? what + ": compute " + time(task.compute_start) + " to " + time(task.compute_end) +
                   " c on SM " + std::to_string(index(task.sm))
             : what + ": reduce " + time(task.reduce_start) + " to " + time(task.reduce_end) + " c on SM " +
                   std::to_string(index(task.sm)) + ", rank " + std::to_string(task.rank);
}

}  // namespace

TEST_CASE("every phase of the plan is a box with its times, at the place the times give") {
  const Planned planned("descending", tile_problem(8, 8, 2, CausalMask{}), 8);
  const Timeline& timeline = planned.timeline;
  const std::string picture = svg_of(timeline);
  CHECK(svg::well_formed(picture));
  std::map<std::string, svg::Box> boxes;
  for (const svg::Box& box : svg::boxes(picture)) boxes[box.title] = box;
  CHECK(boxes.size() == 2 * timeline.tasks.size());
  // The scale from two boxes that lie far apart, then every other box against it.
  std::set<std::pair<std::size_t, bool>> critical;
  for (const CriticalStep& step : timeline.critical_path)
    critical.emplace(step.task, step.phase == Phase::compute);
  double scale = 0, origin = 0;
  const auto last = static_cast<double>(timeline.makespan);
  for (const TaskSpan& task : timeline.tasks)
    if (task.compute_start == 0) {
      origin = boxes.at(title_of(task, Phase::compute, timeline.ticks_per_unit)).left;
    } else if (task.reduce_end == timeline.makespan) {
      scale = boxes.at(title_of(task, Phase::reduce, timeline.ticks_per_unit)).right;
    }
  scale = (scale - origin) / last;
  CHECK(scale > 0);
  for (std::size_t i = 0; i < timeline.tasks.size(); ++i) {
    const TaskSpan& task = timeline.tasks[i];
    for (const Phase phase : {Phase::compute, Phase::reduce}) {
      const bool compute = phase == Phase::compute;
      const auto found = boxes.find(title_of(task, phase, timeline.ticks_per_unit));
      REQUIRE(found != boxes.end());
      const double start = static_cast<double>(compute ? task.compute_start : task.reduce_start);
      const double end = static_cast<double>(compute ? task.compute_end : task.reduce_end);
      // Outlined boxes are drawn a pen's width smaller; 2 points are a sixteenth of a compute phase here.
      CHECK(std::abs(found->second.left - (origin + start * scale)) < 2);
      CHECK(std::abs(found->second.right - (origin + end * scale)) < 2);
      CHECK((found->second.stroke == "#1b1f24") == critical.contains({i, compute}));
    }
  }
}

TEST_CASE("the caption's figures are those of the simulation") {
  Planned planned("ascending", tile_problem(8, 8, 4, CausalMask{}), 8);
  // By hand: 4 * 8 * 1.25 + 7 / 4 = 41.75; work 4 * 36 * 1.25 = 180 of 8 * 41.75 = 334.
  planned.timeline.lower_bound = 45 * planned.timeline.ticks_per_unit / 2;
  const std::string picture = svg_of(planned.timeline);
  CHECK(svg::says(picture, "makespan 41.75 c"));
  CHECK(svg::says(picture, "bubble 46.1 %"));
  CHECK(svg::says(picture, "lower bound 22.5 c"));
  CHECK(svg::says(picture, "144 tasks on 8 SMs"));
}

TEST_CASE("bubbles by cause are the simulator's") {
  const std::pair<const char*, Mask> cases[] = {{"ascending", CausalMask{}},
                                                {"descending", CausalMask{}},
                                                {"spt", CausalMask{}},
                                                {"shift", FullMask{}},
                                                {"ascending", WindowMask{2, 0}}};
  for (const auto& [name, mask] : cases) {
    const Planned planned(name, tile_problem(9, 9, 3, mask), 5);
    const viz::Bubbles bubbles = viz::measure_bubbles(planned.timeline);
    CHECK(bubbles.busy == planned.simulation.work);
    CHECK(bubbles.reduce_wait == planned.simulation.reduce_wait);
    CHECK(bubbles.startup == planned.simulation.startup);
    CHECK(bubbles.tail == planned.simulation.tail);
    CHECK(bubbles.between == 0);
    CHECK(bubbles.busy + bubbles.bubbles() == planned.simulation.makespan * 5);
  }
}

TEST_CASE("overlapped runs have two lanes: a reduce lies below the compute phases") {
  const Timeline timeline = toy::full(4, 4, 1, {4, 3, 1});
  CHECK(viz::is_overlapped(timeline));
  std::map<std::string, svg::Box> boxes;
  for (const svg::Box& box : svg::boxes(svg_of(timeline))) boxes[box.title] = box;
  const TaskSpan& task = timeline.tasks.front();
  CHECK(boxes.at(title_of(task, Phase::reduce, 4)).top >=
        boxes.at(title_of(task, Phase::compute, 4)).bottom - 1);
}

TEST_CASE("a compare sheet keeps one time axis and gives each schedule its caption and bound") {
  Planned slow("ascending", tile_problem(8, 8, 1, CausalMask{}), 8),
      fast("spt", tile_problem(8, 8, 1, CausalMask{}), 8);
  slow.timeline.lower_bound = fast.timeline.lower_bound = 10 * slow.timeline.ticks_per_unit;
  const viz::ComparePanel panels[] = {{&slow.timeline, "first"}, {&fast.timeline, "second"}};
  const std::string picture = viz::draw_compare(panels, "sheet").bytes(PictureFormat::svg);
  CHECK(svg::well_formed(picture));
  CHECK(svg::says(picture, "makespan 11.75 c"));
  CHECK(svg::says(picture, "makespan 10 c"));
  double first = 0, second = 0;
  for (const svg::Box& box : svg::boxes(picture)) {
    if (box.title.find("first: head 0, q 0, kv 0: compute") != std::string::npos)
      first = box.right - box.left;
    if (box.title.find("second: head 0, q 0, kv 0: compute") != std::string::npos)
      second = box.right - box.left;
  }
  CHECK(first > 0);
  CHECK(std::abs(first - second) < 4);
  Timeline measured = fast.timeline;
  measured.unit = "us";
  const viz::ComparePanel mixed[] = {{&slow.timeline, ""}, {&measured, ""}};
  CHECK_THROWS_AS(viz::draw_compare(mixed, "sheet"), BadInput);
}

TEST_CASE("what users type appears as typed, in every format") {
  Timeline timeline = toy::causal(2, 1);
  timeline.title = R"(<b> & "N" \N \G &lt; 'x')";
  const std::string picture = svg_of(timeline);
  CHECK(svg::well_formed(picture));
  std::string shown;
  for (const std::string& text : svg::texts(picture))
    if (text.starts_with("<b>")) shown = text;
  for (auto at = shown.find("\xe2\x80\x8b"); at != std::string::npos; at = shown.find("\xe2\x80\x8b"))
    shown.erase(at, 3);
  CHECK(shown == timeline.title);
  CHECK(viz::draw_timeline(timeline).bytes(PictureFormat::dot).find("digraph") != std::string::npos);
  timeline.title = "bad \xff byte, line\nbreak";
  const std::string cleaned = svg_of(timeline);
  CHECK(svg::well_formed(cleaned));
  CHECK(svg::says(cleaned, "bad \xef\xbf\xbd byte, line break"));
}

TEST_CASE("all four formats are written, and an unknown one is refused in one line") {
  const viz::Picture picture = viz::draw_timeline(toy::causal(4, 1));
  CHECK(picture.bytes(PictureFormat::png).substr(1, 3) == "PNG");
  CHECK(picture.bytes(PictureFormat::pdf).substr(0, 5) == "%PDF-");
  CHECK(picture.bytes(PictureFormat::svg).find("<svg") != std::string::npos);
  CHECK(viz::picture_format("a/b.PNG.svg") == PictureFormat::svg);
  CHECK_THROWS_AS(viz::picture_format("a.jpeg"), BadInput);
}

TEST_CASE("a picture that cannot be written leaves nothing behind") {
  const viz::Picture picture = viz::draw_timeline(toy::causal(2, 1));
  const auto missing = std::filesystem::temp_directory_path() / "dashlab-no-such-folder" / "x.svg";
  try {
    picture.write(missing);
    FAIL("no error");
  } catch (const std::runtime_error& error) {  // bad input or environment: core decides
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    CHECK(std::string(error.what()).find("x.svg") != std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(missing));
}

TEST_CASE("pictures come out the same from several threads") {
  const viz::Picture picture = viz::draw_timeline(toy::causal(6, 2));
  const std::string alone = picture.bytes(PictureFormat::svg);
  std::vector<std::string> together(4);
  std::vector<std::thread> threads;
  for (std::string& bytes : together)
    threads.emplace_back([&] { bytes = picture.bytes(PictureFormat::svg); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& bytes : together) CHECK(bytes == alone);
}

TEST_CASE(
    "20,000 tasks become an SVG within 2 s of processor time; more than an eye can part become shares") {
  const Planned large("spt", tile_problem(100, 100, 4, CausalMask{}), 132);
  REQUIRE(large.timeline.tasks.size() > 20'000);
  const std::clock_t before = std::clock();
  const std::string picture = svg_of(large.timeline);
  CHECK(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 2.0);
  const auto boxes = svg::boxes(picture);
  const auto phases = std::count_if(boxes.begin(), boxes.end(),
                                    [](const svg::Box& b) { return b.title.starts_with("head "); });
  CHECK(static_cast<std::size_t>(phases) == 2 * large.timeline.tasks.size());
  const Planned larger("spt", tile_problem(128, 128, 13, CausalMask{}), 132);
  REQUIRE(larger.timeline.tasks.size() > 100'000);
  const std::string shares = svg_of(larger.timeline);
  CHECK(svg::boxes(shares).empty());
  CHECK(svg::says(shares, "107,328 tasks are more than an eye can part"));
  CHECK(shares.size() < 8u << 20);
}

TEST_CASE("names of chains do not run into each other, also in the widest font that a picture names") {
  // "head 0 · kv 3" in DejaVu Sans Bold at 8 points, measured; all names of this problem are as wide.
  const double drawn = 58.09;
  const Planned planned("descending", tile_problem(4, 4, 2, CausalMask{}), 3);
  const std::regex label(
      R"re(<text [^>]*x="([\d.]+)" y="([-\d.]+)"[^>]*font-size="8.00"[^>]*>([^<]*)</text>)re");
  std::size_t pairs = 0;
  for (double width = 500; width <= 900; width += 5) {
    const std::string picture =
        viz::draw_timeline(planned.timeline, {.width = width}).bytes(PictureFormat::svg);
    std::map<std::string, std::map<double, std::string>> lines;  // by y, then by x
    for (std::sregex_iterator it(picture.begin(), picture.end(), label), end; it != end; ++it) {
      if ((*it)[3].str().find("kv") != std::string::npos ||
          (*it)[3].str().find("\u00b7") != std::string::npos)
        lines[(*it)[2]][std::stod((*it)[1])] = (*it)[3];
    }
    for (const auto& [y, names] : lines) {
      for (auto name = names.begin(); name != names.end() && std::next(name) != names.end(); ++name) {
        if (name->second.find("kv") == std::string::npos) continue;  // the short form
        ++pairs;
        CHECK(name->first + drawn < std::next(name)->first - 2);  // where the line between the chains is
      }
    }
  }
  CHECK(pairs > 100);
}
