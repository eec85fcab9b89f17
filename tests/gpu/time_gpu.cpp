// Times whole backward passes (preprocess, main kernel, postprocess) with CUDA events: all given problems in
// turn, round after round, so that the chip's temperature is the same for all. Arguments: ROUNDS, then any
// number of head_dim:mask:seqlen:tile_q:schedule; 16,384 tokens in all, heads * head_dim = 2048, bf16. Prints
// CSV.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "dashlab/core/error.hpp"
#include "dashlab/gpu/backward.hpp"
#include "dashlab/gpu/device.hpp"

using namespace dashlab;

namespace {

constexpr std::size_t elements = 16384ULL * 2048;

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
    std::memcpy(&bits, &value, 4);
    h = static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
  }
  gpu::DeviceBuffer buffer(elements * 2);
  buffer.upload(host.data(), elements * 2);
  return buffer;
}

struct Inputs {
  gpu::DeviceBuffer q = random_bf16(1, 1), k = random_bf16(2, 1), v = random_bf16(3, 1),
                    dout = random_bf16(4, 1), o = random_bf16(5, 0.1F);
  gpu::DeviceBuffer dq{elements * 2}, dk{elements * 2}, dv{elements * 2};
};

/// One problem, ready to run.
class Candidate {
 public:
  Candidate(const std::string& spec, const Inputs& inputs) : spec_(spec) {
    std::vector<std::string> f(1);
    for (const char c : spec)
      if (c == ':')
        f.emplace_back();
      else
        f.back() += c;
    Problem p;
    p.head_dim = std::stoll(f.at(0));
    p.mask = parse_mask(f.at(1));
    p.seqlen_q = p.seqlen_k = std::stoll(f.at(2));
    p.batch = 16384 / p.seqlen_q;
    p.heads = p.kv_heads = 2048 / p.head_dim;
    p.tile_q = std::stoll(f.at(3));
    p.tile_kv = 128;
    const TileMap tiles(p);
    gpu::BackwardOptions options;
    options.scale = 1.0F / std::sqrt(static_cast<float>(p.head_dim));
    pass_ = std::make_unique<gpu::Backward>(
        p, tiles, make_schedule(f.at(4), p, tiles, {132, GroupMode::per_head}), options);
    workspace_ = gpu::DeviceBuffer(pass_->workspace_bytes());
    pass_->prepare(workspace_.data(), nullptr);
    const std::vector<float> lse(static_cast<std::size_t>(16384 * p.heads),
                                 std::log(static_cast<float>(p.seqlen_k)) + 0.5F);
    lse_ = gpu::DeviceBuffer(lse.size() * 4);
    lse_.upload(lse.data(), lse.size() * 4);
    tensors_ = {inputs.q.data(),  inputs.k.data(),    inputs.v.data(),
                inputs.o.data(),  inputs.dout.data(), static_cast<const float*>(lse_.data()),
                inputs.dq.data(), inputs.dk.data(),   inputs.dv.data()};
    const double pairs =
        static_cast<double>(p.seqlen_q) * static_cast<double>(p.seqlen_k) * (f[1] == "causal" ? 0.5 : 1.0);
    flops_ = 10.0 * pairs * static_cast<double>(p.total_heads() * p.head_dim);
  }

  void run(gpu::Stopwatch& watch, bool keep) {
    watch.start();
    pass_->run(tensors_, nullptr);
    const double ms = watch.stop();
    if (keep) ms_.push_back(ms);
  }

  void print() {
    pass_->finish(nullptr);
    std::sort(ms_.begin(), ms_.end());
    const double median = ms_[ms_.size() / 2];
    std::printf("%s,%.4f,%.4f,%.4f,ms,%.1f\n", spec_.c_str(), median, ms_.front(), ms_.back(),
                flops_ / median / 1e9);
  }

 private:
  std::string spec_;
  std::unique_ptr<gpu::Backward> pass_;
  gpu::DeviceBuffer workspace_, lse_;
  gpu::BackwardTensors tensors_;
  double flops_ = 0;
  std::vector<double> ms_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) throw BadInput("usage: time_gpu ROUNDS head_dim:mask:seqlen:tile_q:schedule ...");
    const int rounds = std::max(1, std::stoi(argv[1]));
    const Inputs inputs;
    std::vector<Candidate> candidates;
    for (int i = 2; i < argc; ++i) candidates.emplace_back(argv[i], inputs);
    gpu::Stopwatch watch;
    for (int r = -2; r < rounds; ++r)
      for (Candidate& c : candidates) c.run(watch, r >= 0);
    std::printf("name,median,low,high,unit,tflops\n");
    for (Candidate& c : candidates) c.print();
    return 0;
  } catch (const EnvironmentError& error) {
    std::printf("%s\n", error.what());
    return 3;
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 2;
  }
}
