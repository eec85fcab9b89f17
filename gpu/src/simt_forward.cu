// Forward pass of profile ieee-fp32: one warp per query row, kv tiles from the last to the first, every sum
// one chain in a fixed order (docs/numerics.md, recipe dashlab).
#include "dashlab/emulator/portable_math.hpp"
#include "forward_kernels.hpp"

namespace dashlab::gpu {

namespace {

constexpr int warps = 4;
constexpr int most_columns = 256;  ///< head_dim at most
constexpr int own_columns = most_columns / 32;

__global__ void __launch_bounds__(warps * 32) simt_forward(const ForwardParams params) {
  extern __shared__ float scores[];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float* s = scores + threadIdx.x / 32 * static_cast<unsigned>(params.tile_kv);
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
  if (index >= static_cast<std::int64_t>(params.total_heads) * params.seqlen_q) return;
  const auto head = static_cast<std::uint32_t>(index / params.seqlen_q);
  const std::int64_t row = index % params.seqlen_q;
  const std::uint32_t kv_head =
      head / params.heads * params.kv_heads + head % params.heads / (params.heads / params.kv_heads);
  const int d = params.head_dim;
  const std::size_t line =
      ((static_cast<std::size_t>(head / params.heads) * static_cast<std::size_t>(params.seqlen_q) +
        static_cast<std::size_t>(row)) *
           params.heads +
       head % params.heads) *
      static_cast<std::size_t>(d);
  const float* q = static_cast<const float*>(params.q) + line;
  const auto kv_row = [&](const void* tensor, std::int64_t key) {
    return static_cast<const float*>(tensor) +
           ((static_cast<std::size_t>(kv_head / params.kv_heads) * static_cast<std::size_t>(params.seqlen_k) +
             static_cast<std::size_t>(key)) *
                params.kv_heads +
            kv_head % params.kv_heads) *
               static_cast<std::size_t>(d);
  };
  const DeviceKeyRange keys = params.key_ranges[row];
  const auto q_tile = static_cast<std::uint32_t>(row / params.tile_q);

  float maximum = -INFINITY;
  float sum = 0.0F;  // lanes 0..3 hold the four partial sums
  float o[own_columns] = {};
  const std::uint32_t end = params.row_begin[q_tile + 1];
  for (std::uint32_t at = end; at-- > params.row_begin[q_tile];) {
    const bool first = at + 1 == end;
    const std::int64_t first_key = static_cast<std::int64_t>(params.row_kv[at]) * params.tile_kv;
    const int n =
        static_cast<int>(min(static_cast<std::int64_t>(params.tile_kv), params.seqlen_k - first_key));
    float now = maximum;
    for (int j = lane; j < n; j += 32) {
      const float* k = kv_row(params.k, first_key + j);
      float x = 0.0F;
      for (int c = 0; c < d; ++c) x = portable::fma(q[c], k[c], x);
      if (first_key + j < keys.begin || first_key + j >= keys.end) x = -INFINITY;
      s[j] = x;
      now = fmaxf(now, x);
    }
    for (int other = 16; other > 0; other /= 2) now = fmaxf(now, __shfl_xor_sync(0xffffffffU, now, other));
    const float base = now == -INFINITY ? 0.0F : now;
    const float factor = portable::exp2(portable::mul(portable::sub(maximum, base), params.scale_log2));
    const float scaled = now == -INFINITY ? 0.0F : portable::mul(now, params.scale_log2);
    maximum = now;
    for (int j = lane; j < n; j += 32) s[j] = portable::exp2(portable::fma(s[j], params.scale_log2, -scaled));
    __syncwarp();
    if (lane < 4) {
      const float p_first = 2 * lane < n ? s[2 * lane] : 0.0F;
      sum = first ? p_first : portable::fma(factor, sum, p_first);
      for (int j = 2 * lane; j < n; j += 8) {
        if (j != 2 * lane) sum = portable::add(sum, s[j]);
        if (j + 1 < n) sum = portable::add(sum, s[j + 1]);
      }
    }
    for (int i = 0; i < own_columns; ++i) {
      const int c = lane + 32 * i;
      if (c >= d) break;
      float x = first ? o[i] : portable::mul(o[i], factor);
      for (int j = 0; j < n; ++j) x = portable::fma(s[j], kv_row(params.v, first_key + j)[c], x);
      o[i] = x;
    }
    __syncwarp();
  }
  sum = portable::add(sum, __shfl_xor_sync(0xffffffffU, sum, 2));
  sum = portable::add(sum, __shfl_xor_sync(0xffffffffU, sum, 1));
  sum = __shfl_sync(0xffffffffU, sum, 0);
  const bool nothing = sum == 0.0F || sum != sum;
  const float inverse = nothing ? 0.0F : portable::div(1.0F, sum);
  if (lane == 0)
    params.lse[index] = nothing ? -INFINITY : portable::fma(maximum, params.scale, portable::ln(sum));
  for (int i = 0; i < own_columns; ++i)
    if (lane + 32 * i < d)
      static_cast<float*>(params.o)[line + static_cast<std::size_t>(lane + 32 * i)] =
          portable::canonical(portable::mul(o[i], inverse));
}

}  // namespace

cudaError_t launch_simt_forward(const ForwardParams& params, cudaStream_t stream) {
  const std::int64_t rows = static_cast<std::int64_t>(params.total_heads) * params.seqlen_q;
  simt_forward<<<static_cast<unsigned>((rows + warps - 1) / warps), warps * 32,
                 static_cast<std::size_t>(warps * params.tile_kv) * 4, stream>>>(params);
  return cudaGetLastError();
}

}  // namespace dashlab::gpu
