// Random small problems for cross-checks between GPU and emulator: every mask, odd lengths, batch, grouped
// queries, named schedules and disturbed ones that verify() still accepts. One seed, one problem.
#pragma once

#include <algorithm>
#include <random>
#include <string>

#include "dashlab/core/error.hpp"
#include "dashlab/core/problem.hpp"
#include "dashlab/core/schedule.hpp"
#include "dashlab/core/tile_map.hpp"
#include "dashlab/core/verify.hpp"
#include "dashlab/emulator/tensor.hpp"

namespace dashlab::test {

struct RandomRun {
  Problem problem;
  Schedule schedule;
  DType dtype = DType::bf16;
};

class RandomRuns {
 public:
  explicit RandomRuns(std::uint64_t seed) : random_(seed) {}

  RandomRun next() {
    for (;;) try {
        return attempt();
      } catch (const BadInput&) {  // a schedule without a meaning for the problem: draw again
      }
  }

 private:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  std::int64_t length(std::int64_t most) {
    const std::int64_t magnitude = between(0, 11);
    return std::clamp<std::int64_t>(between(std::int64_t{1} << magnitude, (std::int64_t{2} << magnitude) - 1),
                                    1, most);
  }

  Mask mask(const Problem& p) {
    switch (between(0, 6)) {
      case 0:
      case 1:
        return FullMask{};
      case 2:
      case 3:
        return CausalMask{};
      case 4:
        return WindowMask{chance(20) ? -1 : between(0, p.seqlen_k),
                          chance(20) ? -1 : between(0, p.seqlen_k / 2)};
      case 5: {
        BlocksMask blocks{
            "drawn", static_cast<std::uint32_t>(p.q_tiles()), static_cast<std::uint32_t>(p.kv_tiles()), {}};
        for (std::uint32_t i = 0; i < blocks.q_tiles * blocks.kv_tiles; ++i)
          blocks.visible.push_back(chance(60) ? 1 : 0);
        return blocks;
      }
      default: {
        DocumentsMask documents;
        std::int64_t left = p.seqlen_q;
        while (left > 0) {
          const std::int64_t n =
              chance(10) ? 0 : std::min(left, between(1, std::max<std::int64_t>(1, p.seqlen_q / 2)));
          documents.documents.push_back({n, chance(70)});
          left -= n;
        }
        return documents;
      }
    }
  }

  RandomRun attempt() {
    RandomRun run;
    Problem& p = run.problem;
    const std::int64_t kind = between(1, 100);
    run.dtype = kind <= 45 ? DType::bf16 : kind <= 75 ? DType::f16 : DType::f32;
    const bool f32 = run.dtype == DType::f32;
    p.head_dim = f32 ? between(1, 6) * 16 : chance(50) ? 64 : 128;
    p.tile_q = f32 ? between(1, 6) * 16 : p.head_dim == 64 ? 128 : chance(50) ? 64 : 80;
    p.tile_kv = f32 ? between(1, 6) * 16 : 128;
    const std::int64_t most = f32 ? 300 : 2048;
    p.batch = chance(70) ? 1 : 2;
    p.kv_heads = between(1, 3);
    p.heads = p.kv_heads * (chance(60) ? 1 : between(2, 4));
    p.seqlen_q = length(most);
    p.seqlen_k = chance(70) ? p.seqlen_q : length(most);
    p.mask = mask(p);
    if (std::holds_alternative<DocumentsMask>(p.mask)) p.seqlen_k = p.seqlen_q;
    check(p);
    const TileMap tiles(p);
    const auto names = schedule_names();
    const auto name =
        names[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(names.size()) - 1))];
    const auto sms = static_cast<std::uint32_t>(chance(50) ? 132 : between(1, 132));
    run.schedule =
        make_schedule(name, p, tiles, {sms, chance(50) ? GroupMode::per_head : GroupMode::gathered});
    if (run.schedule.dq_mode == DqMode::arrival) throw BadInput("arrival order has no fixed bits");
    if (chance(50)) disturb(p, tiles, run.schedule);
    if (!verify(p, tiles, run.schedule).valid) throw BadInput("not valid");
    return run;
  }

  /// Turns q orders, reduce orders and the queue around as far as the verifier allows.
  void disturb(const Problem& p, const TileMap& tiles, Schedule& schedule) {
    if (schedule.steps.empty()) return;
    for (int i = 0; i < 6; ++i) {
      Schedule changed = schedule;
      const std::size_t chain =
          static_cast<std::size_t>(between(0, static_cast<std::int64_t>(changed.chains.size()) - 1));
      const auto begin = changed.steps.begin() + static_cast<std::ptrdiff_t>(changed.chain_begin[chain]);
      const auto end = changed.steps.begin() + static_cast<std::ptrdiff_t>(changed.chain_begin[chain + 1]);
      if (changed.step_head.empty() && chance(60)) std::shuffle(begin, end, random_);
      if (!changed.row_begin.empty() && chance(60)) {
        const auto row =
            static_cast<std::size_t>(between(0, static_cast<std::int64_t>(changed.row_begin.size()) - 2));
        std::shuffle(changed.reduce_kv.begin() + static_cast<std::ptrdiff_t>(changed.row_begin[row]),
                     changed.reduce_kv.begin() + static_cast<std::ptrdiff_t>(changed.row_begin[row + 1]),
                     random_);
      }
      if (verify(p, tiles, changed).valid) {
        schedule = changed;
        schedule.name += "'";
      }
    }
  }

  std::mt19937_64 random_;
};

}  // namespace dashlab::test
