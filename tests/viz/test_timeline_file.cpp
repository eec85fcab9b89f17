// Timeline files: what is written is read back; what is wrong is refused in one line that names the place.
#include <doctest/doctest.h>

#include "dashlab/core/error.hpp"
#include "dashlab/viz/scale.hpp"
#include "dashlab/viz/timeline_file.hpp"
#include "toy_run.hpp"

using namespace dashlab;

namespace {

std::string refusal(std::string_view text) {
  try {
    viz::parse_timeline(text, "file");
  } catch (const BadInput& error) {
    return error.what();
  }
  return "accepted";
}

std::string with_task(std::string_view task) {
  return R"({"format":"dashlab.timeline/1","title":"t","unit":"us","ticks_per_unit":1000,"sms":2,"makespan":50,"tasks":[)" +
         std::string(task) + "]}";
}

}  // namespace

TEST_CASE("a timeline is read back as it was written") {
  Timeline timeline = toy::causal(4, 2);
  timeline.title = "a \"name\" & <tag>";
  timeline.lower_bound = 7;
  timeline.critical_path.clear();
  const Timeline back = viz::parse_timeline(viz::format_timeline(timeline), "file");
  CHECK(viz::format_timeline(back) == viz::format_timeline(timeline));
  CHECK(back.title == timeline.title);
  CHECK(back.tasks.size() == timeline.tasks.size());
  CHECK(back.tasks[5].reduce_end == timeline.tasks[5].reduce_end);
}

TEST_CASE("tasks may come in any order") {
  const Timeline back = viz::parse_timeline(
      with_task("[0,1,0,1,0,1,0,0,5,5,6],[0,0,0,0,0,0,0,8,9,9,10],[0,1,1,0,0,0,0,0,5,5,6]"), "file");
  CHECK(index(back.tasks[0].sm) == 0);
  CHECK(back.tasks[0].compute_start == 0);
  CHECK(index(back.tasks[2].sm) == 1);
}

TEST_CASE("a wrong timeline is refused with the place") {
  CHECK(refusal("{") != "accepted");
  CHECK(refusal("{}") == "file is no timeline; its \"format\" must be \"dashlab.timeline/1\"");
  CHECK(refusal(with_task("[0,0,0,0,0,0,0,0,5,5,6]")) == "accepted");
  CHECK(refusal(with_task("[0,0,0,2,0,0,0,0,5,5,6]")) ==
        "file needs number 3 of task 0, a whole number from 0 to 1");
  CHECK(refusal(with_task("[0,0,0,0,0,0,0,0,5,4,6]")) == "file has task 0 whose times run backwards");
  CHECK(refusal(with_task("[0,0,0,0,0,0,0,0,5,5,51]")) ==
        "file needs number 10 of task 0, a whole number from 0 to 50");
  CHECK(refusal(with_task("[0,0,0]")) == "file has task 0 that is no list of 11 numbers");
  CHECK(refusal(std::string(1 << 20, '[')) == "file: nested too deeply: its format has 4 levels");
}

TEST_CASE("a prediction in microseconds keeps its proportions") {
  const Timeline timeline = toy::causal(3, 1);  // 4 ticks a unit
  const Timeline us = viz::in_microseconds(timeline, 2.5);
  CHECK(us.unit == "us");
  CHECK(us.makespan == timeline.makespan * 625);  // a tick is 625 ns
  CHECK(us.tasks.back().reduce_start == timeline.tasks.back().reduce_start * 625);
}

TEST_CASE("a lower bound between two ticks makes the ticks finer and moves nothing") {
  Timeline timeline = toy::causal(3, 1);  // 4 ticks a unit
  const Rational makespan(timeline.makespan, timeline.ticks_per_unit);
  viz::set_lower_bound(timeline, Rational(10, 3));
  CHECK(timeline.ticks_per_unit == 12);
  CHECK(timeline.lower_bound == 40);
  CHECK(Rational(timeline.makespan, timeline.ticks_per_unit) == makespan);
  CHECK(timeline.tasks[0].compute_end == 12);
}
