// The explorer's file: self-contained, escaped, with the plan's numbers, and made fast. What it does in a
// browser is tested by explorer_browser.py.
#include <doctest/doctest.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "dashlab/core/error.hpp"
#include "dashlab/viz/explorer.hpp"
#include "planned.hpp"
#include "svg_facts.hpp"
#include "toy_run.hpp"

using namespace dashlab;

namespace {

std::string page_of(const Timeline& timeline, std::uint32_t tiles, std::uint32_t heads,
                    const std::string& title = "t") {
  const viz::ExplorerRun run{&timeline, ""};
  return viz::explorer_html({title, {&run, 1}, tiles, tiles, heads});
}

nlohmann::json data_of(const std::string& page) {
  return nlohmann::json::parse(svg::between(page, "id=\"data\">", "</script>"));
}

}  // namespace

TEST_CASE("the page needs nothing from the network") {
  const std::string page = page_of(toy::causal(3, 1), 3, 1);
  CHECK(page.find("default-src 'none'") != std::string::npos);
  for (const char* word : {"http:", "https:", "src=", "@import", "url("})
    CHECK(page.find(word) == std::string::npos);
}

TEST_CASE("the page's numbers are the plan's") {
  const Planned planned("descending", tile_problem(6, 6, 2, CausalMask{}), 6);
  const nlohmann::json run = data_of(page_of(planned.timeline, 6, 2))["runs"][0];
  CHECK(run["makespan"] == planned.simulation.makespan);
  CHECK(run["ticks"] == planned.simulation.ticks_per_unit);
  CHECK(run["bubbles"]["busy"] == planned.simulation.work);
  CHECK(run["bubbles"]["wait"] == planned.simulation.reduce_wait);
  CHECK(run["columns"]["q"][0] == "u8");
  CHECK(run["columns"]["q"][1].get<std::string>().size() == (planned.timeline.tasks.size() + 2) / 3 * 4);
}

TEST_CASE("names cannot leave the place they stand in") {
  Timeline timeline = toy::causal(2, 1);
  timeline.title = "</script><script>alert(1)</script>";
  const std::string page = page_of(timeline, 2, 1, "<img src=x> & \"t\"");
  CHECK(page.find("alert(1)</script>") == std::string::npos);
  CHECK(page.find("<img") == std::string::npos);
  CHECK(data_of(page)["runs"][0]["name"] == timeline.title);
  CHECK(page.find("&lt;img src=x&gt; &amp; &quot;t&quot;") != std::string::npos);
}

TEST_CASE("a task outside of the grid and mixed units are refused") {
  const Timeline timeline = toy::causal(4, 1);
  CHECK_THROWS_AS(page_of(timeline, 3, 1), BadInput);
  Timeline other = timeline;
  other.unit = "us";
  const viz::ExplorerRun runs[] = {{&timeline, ""}, {&other, ""}};
  CHECK_THROWS_AS(viz::explorer_html({"t", runs, 4, 4, 1}), BadInput);
}

TEST_CASE("100,000 tasks become a page within 3 s of processor time") {
  const Planned large("spt", tile_problem(128, 128, 13, CausalMask{}), 132);
  REQUIRE(large.timeline.tasks.size() > 100'000);
  const std::clock_t before = std::clock();
  const std::string page = page_of(large.timeline, 128, 13);
  CHECK(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 3.0);
  CHECK(page.size() < 8u << 20);
}
