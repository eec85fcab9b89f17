#include "check.hpp"
#include "cooperative.cuh"
#include "hopper_backward.cuh"
#include "hopper_launch.hpp"

namespace dashlab::gpu {

namespace {

template <class Input>
cudaError_t launch_for(const HopperParams& params, const HopperLaunch& launch) {
  if (launch.head_dim == 64) {
    using Config = HopperConfig<Input, 64, 128>;
    return launch_cooperative<HopperShared<Config>>(hopper_backward<Config>, params, launch, Config::threads);
  }
  if (launch.tile_q == 80) {
    using Config = HopperConfig<Input, 128, 80>;
    return launch_cooperative<HopperShared<Config>>(hopper_backward<Config>, params, launch, Config::threads);
  }
  using Config = HopperConfig<Input, 128, 64>;
  return launch_cooperative<HopperShared<Config>>(hopper_backward<Config>, params, launch, Config::threads);
}

using EncodeTiled = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                 const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                                 CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                 CUtensorMapFloatOOBfill);

/// The driver's encoder, found at run time so that the library needs no libcuda to link.
EncodeTiled encoder() {
  static const EncodeTiled found = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault,
                                                &result),
               "looking up cuTensorMapEncodeTiled");
    if (result != cudaDriverEntryPointSuccess || function == nullptr)
      throw EnvironmentError(
          "CUDA: the driver has no cuTensorMapEncodeTiled; it is older than CUDA 12.0: update it");
    return reinterpret_cast<EncodeTiled>(function);
  }();
  return found;
}

}  // namespace

bool hopper_kernel_exists(std::int64_t head_dim, std::int64_t tile_q, std::int64_t tile_kv) noexcept {
  if (tile_kv != 128) return false;
  return head_dim == 64 ? tile_q == 128 : head_dim == 128 && (tile_q == 64 || tile_q == 80);
}

std::size_t hopper_shared_bytes(std::int64_t head_dim, std::int64_t tile_q) noexcept {
  if (head_dim == 64) return sizeof(HopperShared<HopperConfig<ptx::Bf16, 64, 128>>);
  if (tile_q == 80) return sizeof(HopperShared<HopperConfig<ptx::Bf16, 128, 80>>);
  return sizeof(HopperShared<HopperConfig<ptx::Bf16, 128, 64>>);
}

cudaError_t launch_hopper_backward(const HopperParams& params, const HopperLaunch& launch) {
  return launch.bf16 ? launch_for<ptx::Bf16>(params, launch) : launch_for<ptx::Fp16>(params, launch);
}

CUtensorMap make_tensor_map(const void* data, std::int64_t batch, std::int64_t seqlen, std::int64_t heads,
                            std::int64_t head_dim, int rows, bool bf16) {
  CUtensorMap map{};
  const cuuint64_t extents[4] = {static_cast<cuuint64_t>(head_dim), static_cast<cuuint64_t>(heads),
                                 static_cast<cuuint64_t>(seqlen), static_cast<cuuint64_t>(batch)};
  const auto row_bytes = static_cast<cuuint64_t>(head_dim * 2);
  const cuuint64_t strides[3] = {row_bytes, row_bytes * extents[1], row_bytes * extents[1] * extents[2]};
  const cuuint32_t box[4] = {64, 1, static_cast<cuuint32_t>(rows), 1};
  const cuuint32_t steps[4] = {1, 1, 1, 1};
  const CUresult result = encoder()(
      &map, bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4,
      const_cast<void*>(data), extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw EnvironmentError("CUDA: the driver refuses a tensor map (error " +
                           std::to_string(static_cast<int>(result)) +
                           "); tensors must be 16-byte aligned device memory");
  return map;
}

}  // namespace dashlab::gpu
