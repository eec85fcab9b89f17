// The kernel to read first. One CTA runs one chain after another; every number below is one chain of fused
// multiply-adds in a fixed order, so that the only freedom left is the order of dQ partials, and that the
// tickets fix.
#include "dashlab/emulator/portable_math.hpp"
#include "simt_backward.hpp"
#include "ticket.cuh"

namespace dashlab::gpu {

namespace {

constexpr int block_threads = 256;
constexpr float log2_e = 0x1.715476p+0F;

/// First element of row `row` of (batch, head) in a [batch, seqlen, heads, head_dim] tensor.
__device__ std::size_t row_place(std::uint32_t head, std::uint32_t heads, std::int64_t seqlen,
                                 std::int64_t row, int dim) {
  const std::size_t batch = head / heads;
  return ((batch * static_cast<std::size_t>(seqlen) + static_cast<std::size_t>(row)) * heads + head % heads) *
         static_cast<std::size_t>(dim);
}

/// dpsum and lse in base 2, one thread a row.
__global__ void rows(const SimtParams params) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= static_cast<std::int64_t>(params.total_heads) * params.seqlen_q) return;
  const auto head = static_cast<std::uint32_t>(index / params.seqlen_q);
  const std::size_t place =
      row_place(head, params.heads, params.seqlen_q, index % params.seqlen_q, params.head_dim);
  float sum = 0.0F;
  for (int c = 0; c < params.head_dim; ++c)
    sum = portable::fma(params.dout[place + c], params.o[place + c], sum);
  const float lse = params.lse[index];
  params.dpsum[index] = sum;
  params.lse2[index] = lse == -INFINITY ? 0.0F : portable::mul(lse, log2_e);
}

__global__ void finish(const SimtParams params) {
  const auto dim = static_cast<std::uint64_t>(params.head_dim);
  const std::uint64_t per_head = static_cast<std::uint64_t>(params.seqlen_q) * dim;
  const std::uint64_t total = per_head * params.total_heads;
  for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
       i += static_cast<std::uint64_t>(gridDim.x) * blockDim.x) {
    const auto head = static_cast<std::uint32_t>(i / per_head);
    const auto row = static_cast<std::int64_t>(i % per_head / dim);
    const std::uint32_t tile = head * params.q_tiles + static_cast<std::uint32_t>(row / params.tile_q);
    const float value = params.row_addends[tile] == 0 ? 0.0F : params.dq_accumulator[i];
    params.dq[row_place(head, params.heads, params.seqlen_q, row, params.head_dim) + i % dim] =
        portable::canonical(portable::mul(value, params.scale));
  }
}

/// One tile: who and how large.
struct Tile {
  std::uint32_t head, kv_head, q_tile, kv_tile;
  int m, n;  ///< rows of q, rows of k and v
  bool partial;
};

struct Worker {
  const SimtParams& params;
  float* p;   ///< [m][n]
  float* ds;  ///< [m][n]

  __device__ Tile tile(std::uint32_t head, std::uint32_t kv_head, std::uint32_t q_tile, std::uint32_t kv_tile,
                       bool partial) const {
    const std::int64_t m = params.seqlen_q - static_cast<std::int64_t>(q_tile) * params.tile_q;
    const std::int64_t n = params.seqlen_k - static_cast<std::int64_t>(kv_tile) * params.tile_kv;
    return {head,
            kv_head,
            q_tile,
            kv_tile,
            static_cast<int>(min(m, static_cast<std::int64_t>(params.tile_q))),
            static_cast<int>(min(n, static_cast<std::int64_t>(params.tile_kv))),
            partial};
  }
  __device__ std::size_t q_place(const Tile& t, int i) const {
    return row_place(t.head, params.heads, params.seqlen_q,
                     static_cast<std::int64_t>(t.q_tile) * params.tile_q + i, params.head_dim);
  }
  __device__ std::size_t kv_place(const Tile& t, int j) const {
    return row_place(t.kv_head, params.kv_heads, params.seqlen_k,
                     static_cast<std::int64_t>(t.kv_tile) * params.tile_kv + j, params.head_dim);
  }

  /// p and dS of a tile into the scratch; the CTA is in step afterwards.
  __device__ void scores(const Tile& t) const {
    for (int e = static_cast<int>(threadIdx.x); e < t.m * t.n; e += block_threads) {
      const int i = e / t.n;
      const int j = e % t.n;
      const std::size_t at_q = q_place(t, i);
      const std::size_t at_kv = kv_place(t, j);
      float s = 0.0F;
      float dp = 0.0F;
      for (int c = 0; c < params.head_dim; ++c) {
        s = portable::fma(params.q[at_q + c], params.k[at_kv + c], s);
        dp = portable::fma(params.dout[at_q + c], params.v[at_kv + c], dp);
      }
      const std::size_t row = static_cast<std::size_t>(t.q_tile) * params.tile_q + i;
      if (t.partial) {
        const DeviceKeyRange keys = params.key_ranges[row];
        const std::int64_t key = static_cast<std::int64_t>(t.kv_tile) * params.tile_kv + j;
        if (key < keys.begin || key >= keys.end) s = -INFINITY;
      }
      const std::size_t at =
          static_cast<std::size_t>(t.head) * static_cast<std::size_t>(params.seqlen_q) + row;
      p[e] = portable::exp2(portable::fma(s, params.scale_log2, -params.lse2[at]));
      ds[e] = portable::mul(p[e], portable::sub(dp, params.dpsum[at]));
    }
    __syncthreads();
  }

  /// sums[j][c] goes on over the q rows of the tile: weights^T rows.
  __device__ void extend(const Tile& t, const float* weights, const float* tensor, float* sums) const {
    const int d = params.head_dim;
    for (int e = static_cast<int>(threadIdx.x); e < t.n * d; e += block_threads) {
      const int j = e / d;
      const int c = e % d;
      float sum = sums[e];
      for (int i = 0; i < t.m; ++i) sum = portable::fma(weights[i * t.n + j], tensor[q_place(t, i) + c], sum);
      sums[e] = sum;
    }
  }

  /// Element (i, c) of dS K, going on from `sum` over the tile's kv rows.
  __device__ float dq_element(const Tile& t, int i, int c, float sum) const {
    for (int j = 0; j < t.n; ++j) sum = portable::fma(ds[i * t.n + j], params.k[kv_place(t, j) + c], sum);
    return sum;
  }

  /// Adds the tile's dQ to its row when its turn has come.
  __device__ void reduce(const Tile& t, const DeviceStep& step) const {
    const ScheduleView& schedule = params.schedule;
    std::uint32_t* ticket = schedule.tickets + step.row;
    if (schedule.ordered && threadIdx.x == 0)
      wait_for_ticket(schedule, ticket, step.rank(), {t.head, t.q_tile, t.kv_tile, 0});
    __syncthreads();
    const int d = params.head_dim;
    const std::size_t first_row =
        static_cast<std::size_t>(t.head) * static_cast<std::size_t>(params.seqlen_q) +
        static_cast<std::size_t>(t.q_tile) * params.tile_q;
    for (int e = static_cast<int>(threadIdx.x); e < t.m * d; e += block_threads) {
      const float partial = dq_element(t, e / d, e % d, 0.0F);
      float* sum = params.dq_accumulator + first_row * d + e;
      if (!schedule.ordered) {
        atomicAdd(sum, partial);
      } else {
        const float before = (step.rank_and_flags & DeviceStep::first) != 0 ? 0.0F : __ldcg(sum);
        __stcg(sum, portable::add(before, partial));
      }
    }
    __threadfence();
    __syncthreads();
    if (schedule.ordered && threadIdx.x == 0) ptx::add_release(ticket, 1);
  }

  /// dK and dV of a finished chain: out, or into the sum that a group of q heads shares.
  __device__ void finish_chain(const DeviceChain& chain, const Tile& t, float* dk, float* dv) const {
    const int size = t.n * params.head_dim;
    bool last = true;
    if (chain.group_count > 1) {
      const std::size_t slot = static_cast<std::size_t>(chain.kv_head) * params.kv_tiles + chain.kv_tile;
      std::uint32_t* ticket = params.schedule.group_tickets + slot;
      float* sums = params.group_accumulator + slot * 2 * params.tile_kv * params.head_dim;
      if (threadIdx.x == 0)
        wait_for_ticket(params.schedule, ticket, chain.group_rank, {chain.q_head, 0, chain.kv_tile, 1});
      __syncthreads();
      last = chain.group_rank + 1 == chain.group_count;
      for (int e = static_cast<int>(threadIdx.x); e < 2 * size; e += block_threads) {
        float* mine = e < size ? dk + e : dv + (e - size);
        float* sum = sums + (e < size ? e : e - size + params.tile_kv * params.head_dim);
        *mine = portable::add(chain.group_rank == 0 ? 0.0F : __ldcg(sum), *mine);
        __stcg(sum, *mine);
      }
      __threadfence();
      __syncthreads();
      if (threadIdx.x == 0) ptx::add_release(ticket, 1);
    }
    if (!last) return;
    const int d = params.head_dim;
    for (int e = static_cast<int>(threadIdx.x); e < size; e += block_threads) {
      const std::size_t place = kv_place(t, e / d) + e % d;
      params.dk[place] = portable::canonical(portable::mul(dk[e], params.scale));
      params.dv[place] = portable::canonical(dv[e]);
    }
  }
};

/// Records when a task computed and reduced; one thread.
__device__ void note(const ScheduleView& schedule, std::uint64_t step, std::uint32_t chain,
                     std::int64_t TaskTrace::*field) {
  if (schedule.trace == nullptr || threadIdx.x != 0) return;
  TaskTrace& trace = schedule.trace[step];
  trace.*field = static_cast<std::int64_t>(ptx::sm_clock());
  trace.sm = blockIdx.x;
  trace.chain = chain;
}

__global__ void __launch_bounds__(block_threads) backward(const SimtParams params) {
  __shared__ std::uint32_t current;
  const int tile_area = params.tile_q * params.tile_kv;
  const int chain_area = max(params.tile_kv, params.tile_q) * params.head_dim;
  float* scratch = params.scratch +
                   static_cast<std::size_t>(blockIdx.x) *
                       (2 * static_cast<std::size_t>(tile_area) + 2 * static_cast<std::size_t>(chain_area));
  const Worker worker{params, scratch, scratch + tile_area};
  float* dk = scratch + 2 * static_cast<std::size_t>(tile_area);
  float* dv = dk + chain_area;
  const ScheduleView& schedule = params.schedule;
  std::uint32_t position = 0;
  if (threadIdx.x == 0) record_clock(schedule, false);
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) current = next_chain(schedule, position);
    __syncthreads();
    const std::uint32_t index = current;
    if (index == schedule.chain_count) break;
    const DeviceChain chain = schedule.chains[index];
    for (int e = static_cast<int>(threadIdx.x); e < chain_area; e += block_threads) dk[e] = dv[e] = 0.0F;
    __syncthreads();
    for (std::uint64_t s = chain.step_begin; s < chain.step_begin + chain.step_count; ++s) {
      const DeviceStep step = schedule.steps[s];
      const bool partial = (step.rank_and_flags & DeviceStep::partial) != 0;
      if (threadIdx.x == 0) perturb(schedule, s);
      __syncthreads();
      if (params.second_pass) {  // the chain owns a q tile; the step names a kv tile
        const Tile t = worker.tile(step.head, chain.kv_head, chain.kv_tile, step.q_tile, partial);
        worker.scores(t);
        for (int e = static_cast<int>(threadIdx.x); e < t.m * params.head_dim; e += block_threads)
          dk[e] = worker.dq_element(t, e / params.head_dim, e % params.head_dim, dk[e]);
        __syncthreads();
        continue;
      }
      const Tile t = worker.tile(step.head, chain.kv_head, step.q_tile, chain.kv_tile, partial);
      note(schedule, s, index, &TaskTrace::compute_start);
      worker.scores(t);
      worker.extend(t, worker.p, params.dout, dv);
      worker.extend(t, worker.ds, params.q, dk);
      note(schedule, s, index, &TaskTrace::compute_end);
      if (schedule.tickets != nullptr) {
        note(schedule, s, index, &TaskTrace::reduce_start);
        worker.reduce(t, step);
        note(schedule, s, index, &TaskTrace::reduce_end);
      }
      __syncthreads();
    }
    if (params.second_pass) {
      const Tile t = worker.tile(chain.q_head, chain.kv_head, chain.kv_tile, 0, false);
      for (int e = static_cast<int>(threadIdx.x); e < t.m * params.head_dim; e += block_threads)
        params.dq[worker.q_place(t, e / params.head_dim) + e % params.head_dim] =
            portable::canonical(portable::mul(dk[e], params.scale));
    } else {
      worker.finish_chain(chain, worker.tile(0, chain.kv_head, 0, chain.kv_tile, false), dk, dv);
    }
  }
  if (threadIdx.x == 0) record_clock(schedule, true);
}

}  // namespace

std::size_t simt_scratch_floats(std::int64_t tile_q, std::int64_t tile_kv, std::int64_t head_dim) noexcept {
  return static_cast<std::size_t>(2 * tile_q * tile_kv +
                                  2 * (tile_q > tile_kv ? tile_q : tile_kv) * head_dim);
}

cudaError_t simt_resident(int* ctas) {
  int per_sm = 0;
  cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, backward, block_threads, 0);
  if (error != cudaSuccess) return error;
  int device = 0;
  int sms = 0;
  error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  *ctas = per_sm * sms;
  return error;
}

cudaError_t launch_simt_rows(const SimtParams& params, cudaStream_t stream) {
  const std::int64_t total = static_cast<std::int64_t>(params.total_heads) * params.seqlen_q;
  rows<<<static_cast<unsigned>((total + block_threads - 1) / block_threads), block_threads, 0, stream>>>(
      params);
  return cudaGetLastError();
}

cudaError_t launch_simt_backward(const SimtParams& params, unsigned ctas, cudaStream_t stream) {
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(block_threads);
  config.stream = stream;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, backward, params);
}

cudaError_t launch_simt_finish(const SimtParams& params, cudaStream_t stream) {
  finish<<<1024, block_threads, 0, stream>>>(params);
  return cudaGetLastError();
}

}  // namespace dashlab::gpu
