// Twenty lines that use DashLab as a library: build a schedule, prove it, simulate it.
#include <iostream>

#include "dashlab/core/schedule.hpp"
#include "dashlab/core/simulate.hpp"
#include "dashlab/core/verify.hpp"

int main() {
  const auto problem = dashlab::tile_problem(8, 8, 2, dashlab::CausalMask{});  // 8 x 8 tiles, 2 heads
  const dashlab::TileMap tiles(problem);
  const auto schedule = dashlab::make_schedule("symmetric-shift", problem, tiles, {.sms = 8});
  if (const auto proof = dashlab::verify(problem, tiles, schedule); !proof.valid) {
    std::cerr << proof.errors.front().message << '\n';
    return 1;
  }
  const auto run = dashlab::simulate(problem, tiles, schedule, dashlab::Costs{});
  std::cout << "makespan " << run.makespan_units().value() << '\n';  // m * (n + 1) * (c + r) / 2 = 11.25
}
