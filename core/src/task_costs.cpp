#include "task_costs.hpp"

#include <cmath>
#include <numbers>

namespace dashlab {
namespace {

// splitmix64's finaliser: a well-mixed 64-bit hash.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// exp(sigma * N(0,1)) by Box-Muller from the phase's own counter.
double jitter_factor(const Jitter& jitter, std::uint64_t step, Phase phase) {
  const std::uint64_t key =
      mix(jitter.seed + 0x9e3779b97f4a7c15ULL * (2 * step + static_cast<std::uint64_t>(phase) + 1));
  const double u = (static_cast<double>(key >> 40) + 1) * 0x1p-24;
  const double v = static_cast<double>(mix(key) >> 40) * 0x1p-24;
  return std::exp(jitter.sigma * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
}

}  // namespace

PhaseTicks TaskCosts::jittered(const PhaseTicks& exact, std::uint64_t step) const {
  const auto draw = [&](std::int64_t ticks, Phase phase) {
    return std::llround(static_cast<double>(ticks) * jitter_factor(*costs_.jitter, step, phase));
  };
  return {draw(exact.compute, Phase::compute), draw(exact.reduce, Phase::reduce)};
}

TaskSpan span_of_task(const Schedule& schedule, std::size_t chain, std::uint64_t step) {
  const Chain& c = schedule.chains[chain];
  TaskSpan span;
  span.head = HeadId{schedule.head_of_step(chain, step)};
  span.q = QTile{c.second_pass ? c.tile : schedule.steps[step]};
  span.kv = KvTile{c.second_pass ? schedule.steps[step] : c.tile};
  span.chain = static_cast<std::uint32_t>(chain);
  span.second_pass = c.second_pass;
  return span;
}

}  // namespace dashlab
