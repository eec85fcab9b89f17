// Forward pass of the 16-bit profiles: one CTA per q tile, one warp per 16 rows, kv tiles from the last to
// the first. The roundings are those of docs/numerics.md, section 5, step by step.
#include "forward_kernels.hpp"
#include "ptx/mma.cuh"

namespace dashlab::gpu {

namespace {

constexpr float ln2 = 0x1.62e430p-1F;
constexpr int pad = 8;  // 16 bytes, so that the rows of an 8x8 matrix fall into different banks

/// Rows first..first+count-1 of one head into shared memory, zeros beyond the end.
template <int head_dim>
__device__ void load_rows(std::uint16_t (*out)[head_dim + pad], const void* tensor, std::uint32_t head,
                          std::uint32_t heads, std::int64_t seqlen, std::int64_t first, int count) {
  const auto* data = static_cast<const std::uint16_t*>(tensor);
  constexpr int pieces = head_dim / 8;
  for (int i = static_cast<int>(threadIdx.x); i < count * pieces; i += static_cast<int>(blockDim.x)) {
    const int r = i / pieces;
    const int c = i % pieces * 8;
    uint4 value = make_uint4(0, 0, 0, 0);
    if (first + r < seqlen) {
      const std::size_t row = (static_cast<std::size_t>(head / heads) * static_cast<std::size_t>(seqlen) +
                               static_cast<std::size_t>(first + r)) *
                                  heads +
                              head % heads;
      value = *reinterpret_cast<const uint4*>(data + row * head_dim + c);
    }
    *reinterpret_cast<uint4*>(&out[r][c]) = value;
  }
}

/// A lane's part of two rows (row = 0: lane / 4, row = 1: lane / 4 + 8).
template <int head_dim>
struct Rows {
  float maximum[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0.0F, 0.0F};
  float o[head_dim / 8][4];
};

template <class Input, int head_dim, int tile_kv>
__global__ void __launch_bounds__(head_dim == 64 ? 384 : 256) hopper_forward(const ForwardParams params) {
  extern __shared__ __align__(16) std::uint16_t memory[];
  using Line = std::uint16_t[head_dim + pad];
  auto* k = reinterpret_cast<Line*>(memory);
  auto* v = k + tile_kv;
  auto* q = v + tile_kv;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::uint32_t q_tile = blockIdx.x % params.q_tiles;
  const std::uint32_t head = blockIdx.x / params.q_tiles;
  const std::uint32_t kv_head =
      head / params.heads * params.kv_heads + head % params.heads / (params.heads / params.kv_heads);
  const std::int64_t first_row = static_cast<std::int64_t>(q_tile) * params.tile_q;
  load_rows<head_dim>(q, params.q, head, params.heads, params.seqlen_q, first_row, params.tile_q);

  DeviceKeyRange keys[2];
  for (int h = 0; h < 2; ++h) keys[h] = params.key_ranges[first_row + 16 * warp + lane / 4 + 8 * h];

  Rows<head_dim> rows;
  for (auto& piece : rows.o)
    for (float& x : piece) x = 0.0F;

  const std::uint32_t begin = params.row_begin[q_tile];
  for (std::uint32_t at = params.row_begin[q_tile + 1]; at-- > begin;) {
    const bool first = at + 1 == params.row_begin[q_tile + 1];
    const std::int64_t first_key = static_cast<std::int64_t>(params.row_kv[at]) * tile_kv;
    __syncthreads();
    load_rows<head_dim>(k, params.k, kv_head, params.kv_heads, params.seqlen_k, first_key, tile_kv);
    load_rows<head_dim>(v, params.v, kv_head, params.kv_heads, params.seqlen_k, first_key, tile_kv);
    __syncthreads();

    float s[tile_kv / 8][4];
#pragma unroll
    for (auto& piece : s)
      for (float& x : piece) x = 0.0F;
#pragma unroll
    for (int c = 0; c < head_dim / 16; ++c) {  // the chain over head_dim, for every column block
      std::uint32_t a[4];
      ptx::load_matrices<false>(a, &q[16 * warp + lane % 16][16 * c + lane / 16 * 8]);
#pragma unroll
      for (int j = 0; j < tile_kv / 16; ++j) {
        std::uint32_t b[4];
        ptx::load_matrices<false>(b, &k[16 * j + lane % 8 + lane / 16 * 8][16 * c + lane / 8 % 2 * 8]);
        ptx::mma16816<Input>(s[2 * j], a, b[0], b[1]);
        ptx::mma16816<Input>(s[2 * j + 1], a, b[2], b[3]);
      }
    }

    float factor[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float now = rows.maximum[h];
#pragma unroll
      for (int j = 0; j < tile_kv / 8; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const std::int64_t key = first_key + 8 * j + lane % 4 * 2 + i;
          float& x = s[j][2 * h + i];
          if (key < keys[h].begin || key >= keys[h].end) x = -INFINITY;
          now = fmaxf(now, x);
        }
      now = fmaxf(now, __shfl_xor_sync(0xffffffffU, now, 1));
      now = fmaxf(now, __shfl_xor_sync(0xffffffffU, now, 2));
      const float base = now == -INFINITY ? 0.0F : now;
      factor[h] = ptx::exp2_approx_ftz(ptx::mul_ftz(ptx::sub_ftz(rows.maximum[h], base), params.scale_log2));
      rows.maximum[h] = now;
      const float scaled = now == -INFINITY ? 0.0F : ptx::mul_ftz(now, params.scale_log2);
#pragma unroll
      for (int j = 0; j < tile_kv / 8; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& x = s[j][2 * h + i];
          x = ptx::exp2_approx_ftz(ptx::fma_ftz(x, params.scale_log2, -scaled));
          if (j == 0 && i == 0)
            rows.sum[h] = first ? x : ptx::fma_ftz(factor[h], rows.sum[h], x);
          else
            rows.sum[h] = ptx::add_ftz(rows.sum[h], x);
        }
    }
    if (!first) {
#pragma unroll
      for (auto& piece : rows.o)
        for (int i = 0; i < 4; ++i) piece[i] = ptx::mul_ftz(piece[i], factor[i / 2]);
    }
#pragma unroll
    for (int c = 0; c < tile_kv / 16; ++c) {  // the chain over the tile's kv columns
      const std::uint32_t a[4] = {
          Input::pack(s[2 * c][0], s[2 * c][1]), Input::pack(s[2 * c][2], s[2 * c][3]),
          Input::pack(s[2 * c + 1][0], s[2 * c + 1][1]), Input::pack(s[2 * c + 1][2], s[2 * c + 1][3])};
#pragma unroll
      for (int j = 0; j < head_dim / 16; ++j) {
        std::uint32_t b[4];
        ptx::load_matrices<true>(b, &v[16 * c + lane % 16][16 * j + lane / 16 * 8]);
        ptx::mma16816<Input>(rows.o[2 * j], a, b[0], b[1]);
        ptx::mma16816<Input>(rows.o[2 * j + 1], a, b[2], b[3]);
      }
    }
  }

  const float lse_factor = ptx::mul_ftz(params.scale_log2, ln2);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float sum = ptx::add_ftz(rows.sum[h], __shfl_xor_sync(0xffffffffU, rows.sum[h], 2));
    sum = ptx::add_ftz(sum, __shfl_xor_sync(0xffffffffU, sum, 1));
    const bool nothing = sum == 0.0F || sum != sum;
    const float inverse = nothing ? 0.0F : ptx::reciprocal_approx_ftz(sum);
    const std::int64_t row = first_row + 16 * warp + lane / 4 + 8 * h;
    if (16 * warp + lane / 4 + 8 * h >= params.tile_q || row >= params.seqlen_q) continue;
    if (lane % 4 == 0)
      params.lse[static_cast<std::size_t>(head) * static_cast<std::size_t>(params.seqlen_q) +
                 static_cast<std::size_t>(row)] =
          nothing ? -INFINITY
                  : ptx::fma_ftz(rows.maximum[h], lse_factor, ptx::mul_ftz(ptx::log2_approx_ftz(sum), ln2));
    const std::size_t line =
        (static_cast<std::size_t>(head / params.heads) * static_cast<std::size_t>(params.seqlen_q) +
         static_cast<std::size_t>(row)) *
            params.heads +
        head % params.heads;
    auto* o = static_cast<std::uint16_t*>(params.o) + line * head_dim + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < head_dim / 8; ++j)
      *reinterpret_cast<std::uint32_t*>(o + 8 * j) =
          Input::pack(ptx::mul_ftz(rows.o[j][2 * h], inverse), ptx::mul_ftz(rows.o[j][2 * h + 1], inverse));
  }
}

template <class Input, int head_dim, int tile_kv>
cudaError_t launch(const ForwardParams& params, cudaStream_t stream) {
  const int bytes = (2 * tile_kv + params.tile_q) * (head_dim + pad) * 2;
  const cudaError_t error = cudaFuncSetAttribute(hopper_forward<Input, head_dim, tile_kv>,
                                                 cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess) return error;
  hopper_forward<Input, head_dim, tile_kv>
      <<<params.total_heads * params.q_tiles, static_cast<unsigned>(params.tile_q) * 2,
         static_cast<std::size_t>(bytes), stream>>>(params);
  return cudaGetLastError();
}

template <class Input>
cudaError_t launch_for(const ForwardParams& params, cudaStream_t stream) {
  if (params.head_dim == 64)
    return params.tile_kv == 192 ? launch<Input, 64, 192>(params, stream)
                                 : launch<Input, 64, 128>(params, stream);
  return params.tile_kv == 176 ? launch<Input, 128, 176>(params, stream)
                               : launch<Input, 128, 128>(params, stream);
}

}  // namespace

bool hopper_forward_exists(std::int64_t head_dim, std::int64_t tile_q, std::int64_t tile_kv) noexcept {
  if (tile_q % 16 != 0 || tile_q < 16) return false;
  if (head_dim == 64) return tile_q <= 192 && (tile_kv == 128 || tile_kv == 192);
  return head_dim == 128 && tile_q <= 128 && (tile_kv == 128 || tile_kv == 176);
}

cudaError_t launch_hopper_forward(const ForwardParams& params, bool bf16, cudaStream_t stream) {
  return bf16 ? launch_for<ptx::Bf16>(params, stream) : launch_for<ptx::Fp16>(params, stream);
}

}  // namespace dashlab::gpu
