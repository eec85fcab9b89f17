// Times whole backward passes (preprocess, main kernel, postprocess) with CUDA events. Each argument is
// head_dim:mask:seqlen:tile_q:schedule[:sms]; 16,384 tokens in all, heads * head_dim = 2048, bf16.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "dashlab/core/error.hpp"
#include "dashlab/gpu/backward.hpp"
#include "dashlab/gpu/device.hpp"

using namespace dashlab;

namespace {

/// bf16 values, nearly normal with the given deviation: nothing here depends on their exact bits.
gpu::DeviceBuffer random_bf16(std::size_t count, std::uint64_t seed, float deviation) {
  std::vector<std::uint16_t> host(count);
  std::uint64_t x = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (auto& h : host) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    int sum = 0;
    for (int i = 0; i < 8; ++i) sum += static_cast<int>(x >> (8 * i) & 255U);
    const float value = static_cast<float>(sum - 1020) / 209.0F * deviation;
    std::uint32_t bits;
    static_assert(sizeof bits == sizeof value);
    __builtin_memcpy(&bits, &value, 4);
    h = static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
  }
  gpu::DeviceBuffer buffer(count * 2);
  buffer.upload(host.data(), count * 2);
  return buffer;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text)
    if (c == ':')
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

void time_one(const std::string& spec) {
  const auto f = split(spec);
  Problem p;
  p.head_dim = std::stoll(f.at(0));
  p.mask = parse_mask(f.at(1));
  p.seqlen_q = p.seqlen_k = std::stoll(f.at(2));
  p.batch = 16384 / p.seqlen_q;
  p.heads = p.kv_heads = 2048 / p.head_dim;
  p.tile_q = std::stoll(f.at(3));
  p.tile_kv = 128;
  const TileMap tiles(p);
  const unsigned sms = f.size() > 5 ? static_cast<unsigned>(std::stoul(f[5])) : 132;
  const Schedule schedule = make_schedule(f.at(4), p, tiles, {sms, GroupMode::per_head});
  gpu::BackwardOptions options;
  options.scale = 1.0F / std::sqrt(static_cast<float>(p.head_dim));
  gpu::Backward pass(p, tiles, schedule, options);
  gpu::DeviceBuffer workspace(pass.workspace_bytes());
  pass.prepare(workspace.data(), nullptr);
  const std::size_t n = 16384ULL * 2048;
  static const auto q = random_bf16(n, 1, 1), k = random_bf16(n, 2, 1), v = random_bf16(n, 3, 1),
                    dout = random_bf16(n, 4, 1), o = random_bf16(n, 5, 0.1F);
  const std::vector<float> lse_host(static_cast<std::size_t>(16384 * p.heads),
                                    std::log(static_cast<float>(p.seqlen_k)) + 0.5F);
  gpu::DeviceBuffer lse(lse_host.size() * 4), dq(n * 2), dk(n * 2), dv(n * 2);
  lse.upload(lse_host.data(), lse_host.size() * 4);
  const gpu::BackwardTensors t{q.data(),  k.data(),    v.data(),
                               o.data(),  dout.data(), static_cast<const float*>(lse.data()),
                               dq.data(), dk.data(),   dv.data()};
  gpu::Stopwatch watch;
  std::vector<double> ms;
  for (int i = 0; i < 13; ++i) {
    watch.start();
    pass.run(t, nullptr);
    const double time = watch.stop();
    if (i >= 3) ms.push_back(time);
  }
  pass.finish(nullptr);
  std::sort(ms.begin(), ms.end());
  const double pairs =
      static_cast<double>(p.seqlen_q) * static_cast<double>(p.seqlen_k) * (f[1] == "causal" ? 0.5 : 1.0);
  const double flops = 10.0 * pairs * static_cast<double>(p.total_heads() * p.head_dim);
  std::printf("%-36s ms %.3f (%.3f..%.3f)  TFLOP/s %.1f\n", spec.c_str(), ms[ms.size() / 2], ms.front(),
              ms.back(), flops / ms[ms.size() / 2] / 1e9);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) try {
      time_one(argv[i]);
    } catch (const std::exception& error) {
      std::printf("%s: %s\n", argv[i], error.what());
    }
  return 0;
}
