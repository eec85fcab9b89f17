#include "dashlab/viz/scale.hpp"

#include <cmath>

namespace dashlab::viz {

Timeline in_microseconds(const Timeline& timeline, double us_per_unit) {
  constexpr std::int64_t nanoseconds = 1000;
  Timeline out = timeline;
  out.unit = "us";
  out.ticks_per_unit = nanoseconds;
  const auto scaled = [&](std::int64_t& ticks) {
    ticks = std::llround(static_cast<double>(ticks) / static_cast<double>(timeline.ticks_per_unit) *
                         us_per_unit * static_cast<double>(nanoseconds));
  };
  scaled(out.makespan);
  scaled(out.lower_bound);
  for (TaskSpan& task : out.tasks) {
    scaled(task.compute_start);
    scaled(task.compute_end);
    scaled(task.reduce_start);
    scaled(task.reduce_end);
  }
  return out;
}

void set_lower_bound(Timeline& timeline, const Rational& bound) {
  const Rational ticks = bound * Rational(timeline.ticks_per_unit);
  const std::int64_t finer = ticks.den();
  if (finer > 1 && finer < 1000 && timeline.makespan < (std::int64_t{1} << 50)) {
    timeline.ticks_per_unit *= finer;
    timeline.makespan *= finer;
    for (TaskSpan& task : timeline.tasks)
      for (std::int64_t* time :
           {&task.compute_start, &task.compute_end, &task.reduce_start, &task.reduce_end})
        *time *= finer;
    timeline.lower_bound = ticks.num();
  } else {
    timeline.lower_bound = ticks.num() / finer;
  }
}

}  // namespace dashlab::viz
