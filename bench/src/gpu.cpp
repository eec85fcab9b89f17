#include "dashlab/bench/gpu.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dashlab/core/optimize.hpp"
#include "dashlab/gpu/backward.hpp"
#include "dashlab/gpu/device.hpp"

namespace dashlab::bench {

namespace {

constexpr std::int64_t tokens = 16384;
constexpr std::int64_t width = 2048;
constexpr auto elements = static_cast<std::size_t>(tokens * width);

/// bf16 values, nearly normal with the given deviation: nothing here depends on their exact bits.
gpu::DeviceBuffer random_bf16(std::uint64_t seed, float deviation) {
  std::vector<std::uint16_t> host(elements);
  std::uint64_t x = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (auto& h : host) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    int sum = 0;
    for (int i = 0; i < 8; ++i) sum += static_cast<int>(x >> (8 * i) & 255U);
    const float value = static_cast<float>(sum - 1020) / 209.0F * deviation;
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    h = static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
  }
  gpu::DeviceBuffer buffer(elements * 2);
  buffer.upload(host.data(), elements * 2);
  return buffer;
}

/// Shared by all passes: they are timed, not compared.
struct Tensors {
  gpu::DeviceBuffer q = random_bf16(1, 1), k = random_bf16(2, 1), v = random_bf16(3, 1),
                    dout = random_bf16(4, 1), o = random_bf16(5, 0.1F);
  gpu::DeviceBuffer dq{elements * 2}, dk{elements * 2}, dv{elements * 2};
};

struct Spec {
  std::int64_t head_dim, seqlen, tile_q;
  bool causal;
  std::string schedule;

  [[nodiscard]] std::string name() const {
    return std::to_string(head_dim) + (causal ? " causal " : " full ") + std::to_string(seqlen) + " " +
           schedule + " " + std::to_string(tile_q) + "x128";
  }
};

/// The named schedule; `optimized` is what the search finds under the costs that traces of this kernel show:
/// starting and ending a chain takes about as long as two tasks (docs/performance.md).
Schedule schedule_of(const Spec& spec, const Problem& problem, const TileMap& tiles) {
  constexpr std::uint32_t sms = 132;
  if (spec.schedule != "optimized") {
    return make_schedule(spec.schedule, problem, tiles, {sms, GroupMode::per_head});
  }
  OptimizeOptions search;
  search.sms = sms;
  search.costs.compute = Rational(3, 4);
  search.costs.reduce = Rational(1, 4);
  search.costs.chain = 2;
  return optimize("optimized", problem, tiles, search).schedule;
}

/// One problem, ready to run.
class Pass {
 public:
  Pass(const Spec& spec, const Tensors& t) : name_(spec.name()) {
    Problem p;
    p.head_dim = spec.head_dim;
    if (spec.causal) p.mask = CausalMask{};
    p.seqlen_q = p.seqlen_k = spec.seqlen;
    p.batch = tokens / spec.seqlen;
    p.heads = p.kv_heads = width / spec.head_dim;
    p.tile_q = spec.tile_q;
    p.tile_kv = 128;
    const TileMap tiles(p);
    gpu::BackwardOptions options;
    options.scale = 1.0F / std::sqrt(static_cast<float>(p.head_dim));
    pass_.emplace(p, tiles, schedule_of(spec, p, tiles), options);
    workspace_ = gpu::DeviceBuffer(pass_->workspace_bytes());
    pass_->prepare(workspace_.data(), nullptr);
    const std::vector<float> lse(static_cast<std::size_t>(tokens * p.heads),
                                 std::log(static_cast<float>(p.seqlen_k)) + 0.5F);
    lse_ = gpu::DeviceBuffer(lse.size() * sizeof(float));
    lse_.upload(lse.data(), lse.size() * sizeof(float));
    tensors_ = {t.q.data(),  t.k.data(),    t.v.data(),
                t.o.data(),  t.dout.data(), static_cast<const float*>(lse_.data()),
                t.dq.data(), t.dk.data(),   t.dv.data()};
    const double pairs =
        static_cast<double>(p.seqlen_q) * static_cast<double>(p.seqlen_k) / (spec.causal ? 2 : 1);
    tera_operations_ = 10.0 * pairs * static_cast<double>(p.total_heads() * p.head_dim) / 1e12;
  }

  void run(gpu::Stopwatch& watch, bool keep) {
    watch.start();
    pass_->run(tensors_, nullptr);
    const double seconds = watch.stop() / 1e3;
    if (keep) rates_.push_back(tera_operations_ / seconds);
  }

  /// Waits and checks that no watchdog fired.
  void finish() { pass_->finish(nullptr); }

  [[nodiscard]] Row row(const Pass& reference) const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < rates_.size(); ++i) ratios.push_back(rates_[i] / reference.rates_[i]);
    const auto [low, high] = std::minmax_element(rates_.begin(), rates_.end());
    const Rate rate{name_, "TFLOP/s", median(rates_), *low, *high};
    return this == &reference ? Row{rate, "", 0} : Row{rate, reference.name_, median(ratios)};
  }

 private:
  std::string name_;
  std::optional<gpu::Backward> pass_;
  gpu::DeviceBuffer workspace_, lse_;
  gpu::BackwardTensors tensors_;
  double tera_operations_ = 0;
  std::vector<double> rates_;
};

}  // namespace

std::vector<Row> gpu_rows(int rounds) {
  gpu::require_device();
  const Tensors tensors;
  std::vector<std::vector<Pass>> groups;  // the last of each is the reference
  for (const std::int64_t head_dim : {64, 128})
    for (const bool causal : {false, true})
      for (std::int64_t seqlen = 512; seqlen <= tokens; seqlen *= 2) {
        const std::int64_t tile_q = head_dim == 64 ? 128 : 64;
        std::vector<Pass>& group = groups.emplace_back();
        const std::vector<std::string> schedules =
            causal ? std::vector<std::string>{"spt", "symmetric-shift", "packed", "optimized", "atomic"}
                   : std::vector<std::string>{"shift", "atomic"};
        for (const std::string& schedule : schedules) {
          group.emplace_back(Spec{head_dim, seqlen, tile_q, causal, schedule}, tensors);
        }
      }
  gpu::Stopwatch watch;
  constexpr int warm_up = 2;
  for (int round = -warm_up; round < rounds; ++round)
    for (auto& group : groups)
      for (Pass& pass : group) pass.run(watch, round >= 0);
  std::vector<Row> rows;
  for (auto& group : groups)
    for (Pass& pass : group) {
      pass.finish();
      rows.push_back(pass.row(group.back()));
    }
  return rows;
}

}  // namespace dashlab::bench
