#include <array>

#include "check.hpp"
#include "dashlab/gpu/device.hpp"
#include "dashlab/gpu/forward.hpp"
#include "dashlab/gpu/session.hpp"

namespace dashlab::gpu {

namespace {

DeviceBuffer uploaded(const TensorView& tensor) {
  DeviceBuffer buffer(tensor.size_bytes());
  buffer.upload(tensor.data, tensor.size_bytes());
  return buffer;
}

__global__ void count_differences(const std::uint32_t* a, const std::uint32_t* b, std::uint64_t words,
                                  unsigned long long* count) {
  std::uint64_t mine = 0;
  for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
       i += static_cast<std::uint64_t>(gridDim.x) * blockDim.x)
    mine += a[i] != b[i] ? 1 : 0;
  if (mine != 0) atomicAdd(count, static_cast<unsigned long long>(mine));
}

}  // namespace

ForwardResult forward_on_gpu(const Problem& problem, const AttentionInputs& inputs, float scale) {
  dashlab::check(problem, inputs, Pass::forward);
  Forward pass(problem, profile_of(inputs.q.dtype), scale);
  const DeviceBuffer workspace(pass.workspace_bytes());
  const DeviceBuffer q = uploaded(inputs.q);
  const DeviceBuffer k = uploaded(inputs.k);
  const DeviceBuffer v = uploaded(inputs.v);
  ForwardResult result{Tensor(inputs.q.dtype, inputs.q.shape),
                       Tensor(DType::f32, {problem.batch, problem.heads, problem.seqlen_q})};
  DeviceBuffer o(result.o.view().size_bytes());
  DeviceBuffer lse(result.lse.view().size_bytes());
  pass.prepare(workspace.data(), nullptr);
  pass.run({q.data(), k.data(), v.data(), o.data(), static_cast<float*>(lse.data())}, nullptr);
  check_cuda(cudaDeviceSynchronize(), "running the forward pass");
  o.download(result.o.data(), o.size());
  lse.download(result.lse.data(), lse.size());
  return result;
}

struct BackwardSession::State {
  Backward pass;
  Shape q_shape, k_shape;
  DType dtype;
  DeviceBuffer workspace, q, k, v, o, dout, lse, count;
  std::array<DeviceBuffer, 3> results, remembered;  ///< dq, dk, dv
  Stopwatch watch;
  double milliseconds = 0;
};

BackwardSession::BackwardSession(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                                 const AttentionInputs& inputs, const BackwardOptions& options) {
  dashlab::check(problem, inputs, Pass::backward);
  state_.reset(new State{Backward(problem, tiles, schedule, options),
                         inputs.q.shape,
                         inputs.k.shape,
                         inputs.q.dtype,
                         {},
                         {},
                         {},
                         {},
                         {},
                         {},
                         {},
                         {},
                         {},
                         {},
                         {},
                         0});
  State& s = *state_;
  s.workspace = DeviceBuffer(s.pass.workspace_bytes());
  s.q = uploaded(inputs.q);
  s.k = uploaded(inputs.k);
  s.v = uploaded(inputs.v);
  s.o = uploaded(inputs.o);
  s.dout = uploaded(inputs.dout);
  s.lse = uploaded(inputs.lse);
  s.count = DeviceBuffer(8);
  s.results[0] = DeviceBuffer(inputs.q.size_bytes());
  s.results[1] = DeviceBuffer(inputs.k.size_bytes());
  s.results[2] = DeviceBuffer(inputs.k.size_bytes());
  s.pass.prepare(s.workspace.data(), nullptr);
}

BackwardSession::~BackwardSession() = default;

void BackwardSession::run(bool dirty) {
  State& s = *state_;
  if (dirty) {
    s.pass.poison(nullptr);
    for (DeviceBuffer& r : s.results) r.fill(0xff);
  }
  s.watch.start();
  s.pass.run(
      {s.q.data(), s.k.data(), s.v.data(), s.o.data(), s.dout.data(), static_cast<const float*>(s.lse.data()),
       s.results[0].data(), s.results[1].data(), s.results[2].data()},
      nullptr);
  s.milliseconds = s.watch.stop();
  s.pass.finish(nullptr);
}

double BackwardSession::milliseconds() const noexcept {
  return state_->milliseconds;
}

void BackwardSession::remember() {
  State& s = *state_;
  for (std::size_t i = 0; i < s.results.size(); ++i) {
    s.remembered[i] = DeviceBuffer(s.results[i].size());
    check_cuda(cudaMemcpy(s.remembered[i].data(), s.results[i].data(), s.results[i].size(),
                          cudaMemcpyDeviceToDevice),
               "keeping the results");
  }
}

std::uint64_t BackwardSession::differing_words() {
  State& s = *state_;
  s.count.fill(0);
  for (std::size_t i = 0; i < s.results.size(); ++i)
    if (s.results[i].size() > 0)
      count_differences<<<512, 256>>>(static_cast<const std::uint32_t*>(s.results[i].data()),
                                      static_cast<const std::uint32_t*>(s.remembered[i].data()),
                                      s.results[i].size() / 4,
                                      static_cast<unsigned long long*>(s.count.data()));
  check_cuda(cudaGetLastError(), "comparing the results");
  std::uint64_t count = 0;
  s.count.download(&count, 8);
  return count;
}

Gradients BackwardSession::results() const {
  const State& s = *state_;
  Gradients out{Tensor(s.dtype, s.q_shape), Tensor(s.dtype, s.k_shape), Tensor(s.dtype, s.k_shape)};
  s.results[0].download(out.dq.data(), s.results[0].size());
  s.results[1].download(out.dk.data(), s.results[1].size());
  s.results[2].download(out.dv.data(), s.results[2].size());
  return out;
}

Timeline BackwardSession::timeline() const {
  return state_->pass.timeline();
}

}  // namespace dashlab::gpu
