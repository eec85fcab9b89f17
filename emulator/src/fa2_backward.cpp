// Recipe fa2-torch, backward: no flushing, multiply and add unfused, dQ in several buffers (docs/numerics.md,
// section 6).
#include <fmt/format.h>

#include <array>
#include <limits>
#include <numbers>

#include "dashlab/core/error.hpp"
#include "dashlab/emulator/array_math.hpp"
#include "dashlab/emulator/fa2.hpp"
#include "dashlab/emulator/scalar_math.hpp"
#include "dashlab/emulator/special_functions.hpp"

namespace dashlab {

namespace {

class Fa2Backward final : public BackwardRecipe<std::uint16_t> {
 public:
  Fa2Backward(DType dtype, std::int64_t head_dim, float scale, std::uint32_t dq_buffers)
      : BackwardRecipe(dtype, scale),
        type_(input_type(dtype)),
        scale_log2_(scale_in_log2(scale)),
        threads_(head_dim % 64 == 0 ? 8 : 4),
        dq_buffers_(dq_buffers) {}

  [[nodiscard]] std::string_view name() const override { return "fa2-torch"; }
  [[nodiscard]] std::uint32_t dq_buffers() const override { return dq_buffers_; }

  [[nodiscard]] float lse_base2(float lse) const override {
    if (lse == -std::numeric_limits<float>::infinity()) return 0.0F;
    return mul(lse, std::numbers::log2e_v<float>);
  }

  [[nodiscard]] float row_dot(std::span<const std::uint16_t> dout,
                              std::span<const std::uint16_t> o) const override {
    constexpr std::size_t chunk = 8;
    std::array<float, 8> sum{};
    for (std::size_t i = 0; i < dout.size(); ++i) {
      float& lane = sum[i / chunk % threads_];
      lane = add(lane, mul(to_float(dout[i], type_), to_float(o[i], type_)));
    }
    for (std::size_t stride = threads_ / 2; stride > 0; stride /= 2) {
      const std::array<float, 8> other = sum;
      for (std::size_t t = 0; t < threads_; ++t) sum[t] = add(sum[t], other[t ^ stride]);
    }
    return sum[0];
  }

  void probabilities(std::span<float> s, std::span<float> dp, float lse2, float dpsum, std::uint16_t* p,
                     std::uint16_t* ds) const override {
    mul_sub(s, scale_log2_, lse2);
    exp2_accurate(s, s);
    score_gradient(s, dp, dpsum);
    convert(s, {p, s.size()}, type_);
    convert(dp, {ds, dp.size()}, type_);
  }

  void finish(std::span<const float> accumulator, bool scaled, std::uint16_t* out) const override {
    for (const float a : accumulator) *out++ = from_float(scaled ? mul(a, scale()) : a, type_);
  }

 private:
  InputType type_;
  float scale_log2_;
  std::size_t threads_;
  std::uint32_t dq_buffers_;
};

}  // namespace

void check_fa2(const Problem& problem) {
  if (!std::holds_alternative<FullMask>(problem.mask) && !std::holds_alternative<CausalMask>(problem.mask))
    throw BadInput(fmt::format("recipe fa2-torch knows the masks full and causal, not '{}'; use recipe fa3",
                               to_string(problem.mask)));
  if (problem.heads != problem.kv_heads)
    throw BadInput("recipe fa2-torch was not measured with grouped kv heads; repeat k and v for each q head");
  if (problem.head_dim > 256)
    throw BadInput(fmt::format("recipe fa2-torch ends at head dim 256, not {}", problem.head_dim));
}

TileShape fa2_backward_tiles(std::int64_t head_dim) {
  if (head_dim <= 64) return {128, 128};
  return head_dim <= 128 ? TileShape{64, 128} : TileShape{64, 64};
}

std::uint32_t fa2_dq_buffers(const Problem& problem, std::uint32_t sms) {
  const auto heads = static_cast<std::uint32_t>(problem.total_heads());
  return (sms + heads - 1) / heads;
}

std::unique_ptr<BackwardRecipe<std::uint16_t>> fa2_backward_recipe(DType dtype, std::int64_t head_dim,
                                                                   float scale, std::uint32_t dq_buffers) {
  return std::make_unique<Fa2Backward>(dtype, head_dim, scale, dq_buffers);
}

Schedule fa2_schedule(const Problem& problem, const TileMap& tiles, std::uint32_t sms) {
  Schedule schedule;
  schedule.name = "fa2-torch";
  schedule.sms = sms;
  const std::uint32_t buffers = fa2_dq_buffers(problem, sms);
  for (std::uint32_t head = 0; head < problem.total_heads(); ++head) {
    for (std::uint32_t kv = 0; kv < tiles.kv_tiles(); ++kv) {
      const auto column = tiles.column(KvTile{kv});
      if (column.empty()) continue;
      schedule.chains.push_back({head, kv, false});
      schedule.steps.insert(schedule.steps.end(), column.rbegin(), column.rend());
      schedule.chain_begin.push_back(schedule.steps.size());
    }
  }
  schedule.row_begin.push_back(0);
  for (std::uint32_t head = 0; head < problem.total_heads(); ++head) {
    for (std::uint32_t q = 0; q < tiles.q_tiles(); ++q) {
      const auto row = tiles.row(QTile{q});
      for (std::uint32_t buffer = 0; buffer < std::min(buffers, tiles.kv_tiles()); ++buffer)
        for (const std::uint32_t kv : row)
          if (kv % buffers == buffer) schedule.reduce_kv.push_back(kv);
      schedule.row_begin.push_back(schedule.reduce_kv.size());
    }
  }
  return schedule;
}

}  // namespace dashlab
