// The two kernels of schedule `two-pass`: dK and dV, then dQ.
#include "cooperative.cuh"
#include "hopper_backward.cuh"
#include "hopper_second_pass.cuh"

namespace dashlab::gpu {

namespace {

template <class Config>
cudaError_t first(const HopperParams& params, const HopperLaunch& launch) {
  return launch_cooperative<HopperShared<Config>>(hopper_backward<Config>, params, launch, Config::threads);
}

template <class Config>
cudaError_t second(const HopperParams& params, const HopperLaunch& launch) {
  return launch_cooperative<SecondPassShared<Config>>(hopper_second_pass<Config>, params, launch,
                                                      Config::threads);
}

template <class Input>
cudaError_t first_for(const HopperParams& params, const HopperLaunch& launch) {
  if (launch.head_dim == 64) return first<HopperConfig<Input, 64, 128, false>>(params, launch);
  if (launch.tile_q == 80) return first<HopperConfig<Input, 128, 80, false>>(params, launch);
  return first<HopperConfig<Input, 128, 64, false>>(params, launch);
}

template <class Input>
cudaError_t second_for(const HopperParams& params, const HopperLaunch& launch) {
  if (launch.head_dim == 64) return second<HopperConfig<Input, 64, 128, false>>(params, launch);
  if (launch.tile_q == 80) return second<HopperConfig<Input, 128, 80, false>>(params, launch);
  return second<HopperConfig<Input, 128, 64, false>>(params, launch);
}

}  // namespace

cudaError_t launch_hopper_first_pass(const HopperParams& params, const HopperLaunch& launch) {
  return launch.bf16 ? first_for<ptx::Bf16>(params, launch) : first_for<ptx::Fp16>(params, launch);
}

cudaError_t launch_hopper_second_pass(const HopperParams& params, const HopperLaunch& launch) {
  return launch.bf16 ? second_for<ptx::Bf16>(params, launch) : second_for<ptx::Fp16>(params, launch);
}

}  // namespace dashlab::gpu
