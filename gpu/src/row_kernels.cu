#include "hopper_layout.cuh"
#include "ptx/arithmetic.cuh"
#include "row_kernels.hpp"

namespace dashlab::gpu {

namespace {

constexpr int block_threads = 256;
constexpr float log2_e = 0x1.715476p+0F;

/// One row per group of head_dim / 8 lanes: each lane sums eight products, then a butterfly
/// (docs/numerics.md, 4).
template <class Input, int head_dim>
__global__ void __launch_bounds__(block_threads) preprocess(const PreprocessParams params) {
  constexpr int lanes = head_dim / 8;
  constexpr int rows_per_block = block_threads / lanes;
  const std::uint64_t padded = static_cast<std::uint64_t>(params.q_tiles) * params.tile_q;
  const std::uint64_t index = static_cast<std::uint64_t>(blockIdx.x) * rows_per_block + threadIdx.x / lanes;
  const std::uint32_t lane = threadIdx.x % lanes;
  if (index >= padded * params.total_heads)
    return;  // whole groups leave together, and masks below name groups
  const std::uint64_t head = index / padded;
  const auto q = static_cast<std::int64_t>(index % padded);
  float sum = 0.0F;
  float lse2 = 0.0F;
  if (q < params.seqlen_q) {
    const std::uint64_t place =
        ((head / params.heads * static_cast<std::uint64_t>(params.seqlen_q) + static_cast<std::uint64_t>(q)) *
             params.heads +
         head % params.heads) *
            head_dim +
        lane * 8;
    const uint4 a4 = *reinterpret_cast<const uint4*>(params.dout + place);
    const uint4 b4 = *reinterpret_cast<const uint4*>(params.o + place);
    const std::uint32_t a[4] = {a4.x, a4.y, a4.z, a4.w};
    const std::uint32_t b[4] = {b4.x, b4.y, b4.z, b4.w};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float x = Input::widen(static_cast<std::uint16_t>(a[i / 2] >> (i % 2 * 16)));
      const float y = Input::widen(static_cast<std::uint16_t>(b[i / 2] >> (i % 2 * 16)));
      sum = i == 0 ? ptx::mul_ftz(x, y) : ptx::fma_ftz(x, y, sum);
    }
    const float lse =
        params.lse[head * static_cast<std::uint64_t>(params.seqlen_q) + static_cast<std::uint64_t>(q)];
    lse2 = lse == -INFINITY ? 0.0F : ptx::mul_ftz(lse, log2_e);
  }
  const unsigned group = (lanes == 16 ? 0xffffU : 0xffU) << (threadIdx.x % 32 / lanes * lanes);
#pragma unroll
  for (int stride = lanes / 2; stride > 0; stride /= 2)
    sum = ptx::add_ftz(sum, __shfl_xor_sync(group, sum, stride));
  if (lane == 0) {
    params.dpsum[index] = sum;
    params.lse2[index] = lse2;
  }
}

/// One block per dQ tile: from the accumulator's order through shared memory to rows.
template <class Input, int head_dim, int tile_q>
__global__ void __launch_bounds__(block_threads) postprocess(const PostprocessParams params) {
  constexpr int pad = 8;
  __shared__ std::uint16_t tile[tile_q][head_dim + pad];
  const std::uint32_t row = blockIdx.x;
  const auto* pieces =
      reinterpret_cast<const float4*>(params.accumulator + static_cast<std::size_t>(row) * tile_q * head_dim);
  const bool empty = params.row_addends[row] == 0;
  constexpr int groups = tile_q * head_dim / 256 / 4;
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll 4
  for (int g = 0; g < groups; ++g) {
    float4 x = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
    if (!empty) x = pieces[(thread / 128 * groups + g) * 128 + thread % 128];
    const float values[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const DqPlace place = dq_place<head_dim, tile_q>(thread, g, i);
      tile[place.q][place.d] = ptx::round_to<Input>(ptx::mul_ftz(values[i], params.scale));
    }
  }
  __syncthreads();
  const std::uint64_t head = row / params.q_tiles;
  const std::int64_t first = static_cast<std::int64_t>(row % params.q_tiles) * tile_q;
  constexpr int pieces_per_row = head_dim / 8;
  for (int i = thread; i < tile_q * pieces_per_row; i += block_threads) {
    const int r = i / pieces_per_row;
    const int c = i % pieces_per_row * 8;
    if (first + r >= params.seqlen_q) break;
    const std::uint64_t place = ((head / params.heads * static_cast<std::uint64_t>(params.seqlen_q) +
                                  static_cast<std::uint64_t>(first + r)) *
                                     params.heads +
                                 head % params.heads) *
                                    head_dim +
                                static_cast<std::uint64_t>(c);
    *reinterpret_cast<uint4*>(params.dq + place) = *reinterpret_cast<const uint4*>(&tile[r][c]);
  }
}

template <class Input>
void start_preprocess(const PreprocessParams& params, cudaStream_t stream) {
  const std::uint64_t rows = static_cast<std::uint64_t>(params.total_heads) * params.q_tiles * params.tile_q;
  const std::uint64_t per_block = block_threads / (static_cast<std::uint64_t>(params.head_dim) / 8);
  const auto blocks = static_cast<unsigned>((rows + per_block - 1) / per_block);
  if (params.head_dim == 128)
    preprocess<Input, 128><<<blocks, block_threads, 0, stream>>>(params);
  else
    preprocess<Input, 64><<<blocks, block_threads, 0, stream>>>(params);
}

template <class Input>
void start_postprocess(const PostprocessParams& params, cudaStream_t stream) {
  const unsigned blocks = params.total_heads * params.q_tiles;
  if (params.head_dim == 64)
    postprocess<Input, 64, 128><<<blocks, block_threads, 0, stream>>>(params);
  else if (params.tile_q == 80)
    postprocess<Input, 128, 80><<<blocks, block_threads, 0, stream>>>(params);
  else
    postprocess<Input, 128, 64><<<blocks, block_threads, 0, stream>>>(params);
}

}  // namespace

cudaError_t launch_preprocess(const PreprocessParams& params, cudaStream_t stream) {
  if (params.bf16)
    start_preprocess<ptx::Bf16>(params, stream);
  else
    start_preprocess<ptx::Fp16>(params, stream);
  return cudaGetLastError();
}

cudaError_t launch_postprocess(const PostprocessParams& params, cudaStream_t stream) {
  if (params.bf16)
    start_postprocess<ptx::Bf16>(params, stream);
  else
    start_postprocess<ptx::Fp16>(params, stream);
  return cudaGetLastError();
}

}  // namespace dashlab::gpu
