// The device form of a schedule: ranks, lists, and chains for kv tiles that nobody sees.
#include <doctest/doctest.h>

#include "dashlab/core/schedule.hpp"
#include "lowering.hpp"

using namespace dashlab;
using namespace dashlab::gpu;

namespace {

Problem in_tokens(std::int64_t q, std::int64_t k, Mask mask) {
  Problem p;
  p.seqlen_q = q;
  p.seqlen_k = k;
  p.tile_q = p.tile_kv = 16;
  p.head_dim = 16;
  p.mask = std::move(mask);
  return p;
}

LoweredSchedule lowered(const Problem& p, const char* name, std::uint32_t sms) {
  const TileMap tiles(p);
  return lower(p, tiles, make_schedule(name, p, tiles, {sms, GroupMode::per_head}));
}

}  // namespace

TEST_CASE("Every step knows its rank, and the first addend of a row is marked") {
  const LoweredSchedule l =
      lowered(in_tokens(48, 48, CausalMask{}), "spt", 3);  // reduce order: kv descending
  REQUIRE(l.steps.size() == 6);
  for (const DeviceChain& chain : l.chains)
    for (std::uint64_t s = chain.step_begin; s < chain.step_begin + chain.step_count; ++s) {
      const DeviceStep& step = l.steps[s];
      CHECK(step.rank() == step.q_tile - chain.kv_tile);
      CHECK(((step.rank_and_flags & DeviceStep::first) != 0) == (step.q_tile == chain.kv_tile));
      CHECK(((step.rank_and_flags & DeviceStep::partial) != 0) == (step.q_tile == chain.kv_tile));
    }
  CHECK(l.row_addends == std::vector<std::uint32_t>{1, 2, 3});
}

TEST_CASE("A kv tile that no query sees gets a chain without steps, so that its gradients become zeros") {
  const LoweredSchedule l = lowered(in_tokens(16, 64, WindowMask{0, 0}), "ascending", 2);
  REQUIRE(l.chains.size() == 4);  // the window sees kv tile 3 alone: aligned at the bottom right
  int without_steps = 0;
  for (const DeviceChain& chain : l.chains) without_steps += chain.step_count == 0 ? 1 : 0;
  CHECK(without_steps == 3);
}

TEST_CASE("Static lists end with the last CTA taking unseen kv tiles") {
  const Problem p = in_tokens(64, 64, FullMask{});
  const LoweredSchedule l = lowered(p, "shift", 4);
  REQUIRE(l.cta_begin.size() == 5);
  CHECK(l.cta_begin.front() == 0);
  CHECK(l.cta_begin.back() == l.chains.size());
  Problem blind = in_tokens(32, 32, BlocksMask{"none", 2, 2, {0, 0, 0, 0}});
  const TileMap tiles(blind);
  Schedule nothing;
  nothing.placement = Placement::static_lists;
  nothing.sms = 3;
  nothing.sm_begin = {0, 0, 0, 0};
  nothing.row_begin = {0, 0, 0};
  const LoweredSchedule zeros = lower(blind, tiles, nothing);
  CHECK(zeros.cta_begin == std::vector<std::uint32_t>{0, 0, 0, 2});
}

TEST_CASE("Rows beyond the end of the sequence see no keys") {
  const auto ranges = padded_key_ranges(in_tokens(20, 40, CausalMask{}));
  REQUIRE(ranges.size() == 32);
  CHECK(ranges[0].begin == 0);
  CHECK(ranges[0].end == 21);
  CHECK(ranges[19].end == 40);
  CHECK(ranges[20].end == 0);
}
