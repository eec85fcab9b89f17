// DAGs as pictures: edges against the schedule, Lemma 1 against core, deadlocks with the cycle the verifier
// found.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "dashlab/viz/dag_picture.hpp"
#include "planned.hpp"
#include "svg_facts.hpp"

using namespace dashlab;

namespace {

std::string dag_svg(const Planned& planned, const viz::DagStyle& style = {}) {
  viz::DagInput input;
  input.problem = &planned.problem;
  input.schedule = &planned.schedule;
  input.title = "title";
  input.sm_of_chain = planned.simulation.sm_of_chain;
  input.timeline = &planned.timeline;
  return viz::draw_dag(input, style).bytes(viz::PictureFormat::svg);
}

std::size_t count(const std::vector<std::string>& groups, std::string_view words) {
  std::size_t found = 0;
  for (const std::string& group : groups) found += group.find(words) != group.npos ? 1 : 0;
  return found;
}

// Two SMs, two kv tiles, two rows: each SM begins with the row in which it comes second.
Schedule crossed() {
  Schedule schedule;
  schedule.name = "crossed";
  schedule.placement = Placement::static_lists;
  schedule.sms = 2;
  schedule.chains = {{0, 0, false}, {0, 1, false}};
  schedule.chain_begin = {0, 2, 4};
  schedule.steps = {0, 1, 1, 0};
  schedule.sm_begin = {0, 1, 2};
  schedule.row_begin = {0, 2, 4};
  schedule.reduce_kv = {1, 0, 0, 1};
  return schedule;
}

}  // namespace

TEST_CASE("a DAG has a box per task, a cluster per SM, solid program and dashed reduce edges") {
  const Planned planned("shift", tile_problem(4, 4, 1, FullMask{}), 4);
  const std::string picture = dag_svg(planned);
  CHECK(svg::well_formed(picture));
  CHECK(svg::boxes(picture).size() == 16);
  CHECK(svg::groups(picture, "cluster").size() == 4);
  const auto edges = svg::groups(picture, "edge");
  CHECK(edges.size() == 4 * 3 + 4 * 3);
  CHECK(count(edges, "stroke-dasharray") == 4 * 3);
  CHECK(count(edges, "#c1121f") == 0);
}

TEST_CASE("edges are red exactly where Lemma 1 does not hold") {
  for (const char* name : {"ascending", "descending", "spt", "symmetric-shift"}) {
    const Planned planned(name, tile_problem(8, 8, 1, CausalMask{}), 8);
    const bool red = count(svg::groups(dag_svg(planned), "edge"), "#c1121f") > 0;
    CHECK_MESSAGE(red == !alignment(planned.problem, planned.tiles, planned.schedule, {}).lemma1, name);
  }
}

TEST_CASE("a deadlock is red and says who waits for whom") {
  const Problem problem = tile_problem(2, 2, 1, FullMask{});
  const TileMap tiles(problem);
  const Schedule schedule = crossed();
  const Verification found = verify(problem, tiles, schedule);
  REQUIRE_FALSE(found.deadlock_free);
  viz::DagInput input;
  input.problem = &problem;
  input.schedule = &schedule;
  input.verification = &found;
  const std::string picture = viz::draw_dag(input).bytes(viz::PictureFormat::svg);
  // By hand: SM 0 runs (q 0, kv 0), second in its row, before (q 1, kv 0), which (q 1, kv 1) waits for; SM 1
  // likewise.
  CHECK(svg::says(picture, "kv 0 waits for kv 1 on row q 0 of head 0"));
  CHECK(svg::says(picture, "kv 1 waits for kv 0 on row q 1 of head 0"));
  CHECK(svg::says(picture, "deadlock: a circle of 2 waits, none of which can end"));
  CHECK(count(svg::groups(picture, "edge"), "#c1121f") == 4);
}

TEST_CASE("a tile that the mask skips stands apart, and its successor's wait is named") {
  // Five kv tiles, one row that sees only tiles 1 to 4; the order still begins with tile 0.
  const Problem problem = tile_problem(1, 5, 1, WindowMask{3, 0});
  const TileMap tiles(problem);
  REQUIRE(tiles.at(QTile{0}, KvTile{0}) == TileClass::empty);
  Schedule schedule = make_schedule("ascending", problem, tiles, {5});
  schedule.reduce_kv.insert(schedule.reduce_kv.begin(), 0);
  schedule.row_begin.back() = schedule.reduce_kv.size();
  const Verification found = verify(problem, tiles, schedule);
  REQUIRE_FALSE(found.valid);
  viz::DagInput input;
  input.problem = &problem;
  input.schedule = &schedule;
  input.verification = &found;
  const std::string picture = viz::draw_dag(input).bytes(viz::PictureFormat::svg);
  CHECK(svg::says(picture, "kv 1 waits on row q 0 of head 0 for kv 0, which the mask skips"));
  bool skipped = false;
  for (const svg::Box& box : svg::boxes(picture))
    skipped = skipped || box.title.find("never adds") != std::string::npos;
  CHECK(skipped);
}

TEST_CASE("a large DAG collapses to chains and says so") {
  const Planned planned("spt", tile_problem(128, 128, 1, CausalMask{}), 132);
  REQUIRE(planned.schedule.steps.size() > 5000);
  const std::string picture = dag_svg(planned);
  CHECK(svg::boxes(picture).size() == 128);
  CHECK(svg::says(picture, "8,256 tasks are too many to draw one by one: each box is a chain"));
  CHECK(svg::boxes(dag_svg(Planned("spt", tile_problem(8, 8, 1, CausalMask{}), 8), {20, 400})).size() == 8);
}

TEST_CASE("the same DAG has the same bytes, wherever its names lie in memory") {
  const Planned planned("descending", tile_problem(6, 6, 1, CausalMask{}), 6);
  const std::string picture = dag_svg(planned);
  for (std::size_t size = 24; size <= 64; size += 8) {
    std::vector<std::unique_ptr<char[]>> blocks;
    for (int i = 0; i < 200; ++i) blocks.push_back(std::make_unique<char[]>(size));
    // What was freed last is handed out first: the next names lie at falling addresses.
    for (auto& block : blocks) block.reset();
    const bool same = dag_svg(planned) == picture;
    CHECK(same);
  }
}
