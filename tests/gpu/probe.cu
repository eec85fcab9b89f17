// Measures what docs/numerics.md once left open: does the f32 bulk reduce-add flush subnormals, and in which
// index order does rsqrt give CRC-32 9d0587e4. Prints facts; docs/numerics.md, "measured here".
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

__global__ void bulk_add(float* out, const float* values, int store) {
  __shared__ __align__(16) float s[32];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 32; ++i) s[i] = values[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    const auto from = static_cast<unsigned>(__cvta_generic_to_shared(s));
    if (store != 0)
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(out), "r"(from)
                   : "memory");
    else
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 128;" ::"l"(out),
                   "r"(from)
                   : "memory");
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
  }
}

__global__ void atomic_add(float* out, const float* values) {
  atomicAdd(out + threadIdx.x, values[threadIdx.x]);
}

__global__ void rsqrt_bits(std::uint32_t* out, int order) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t mantissa = i & 0x7fffffU;
  const std::uint32_t parity = i >> 23;
  // order 0: [1,2) then [2,4); order 1: [0.5,1) then [1,2); order 2: [2,4) then [1,2); order 3: [1,2) then
  // [0.5,1)
  const std::uint32_t exponents[4][2] = {{127, 128}, {126, 127}, {128, 127}, {127, 126}};
  const float x = __uint_as_float(exponents[order][parity] << 23 | mantissa);
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  out[i] = __float_as_uint(y);
}

std::uint32_t crc32(const unsigned char* data, std::size_t size) {
  static std::uint32_t table[256];
  if (table[1] == 0)
    for (std::uint32_t n = 0; n < 256; ++n) {
      std::uint32_t c = n;
      for (int k = 0; k < 8; ++k) c = (c & 1U) != 0 ? 0xedb88320U ^ (c >> 1) : c >> 1;
      table[n] = c;
    }
  std::uint32_t c = 0xffffffffU;
  for (std::size_t i = 0; i < size; ++i) c = table[(c ^ data[i]) & 255U] ^ (c >> 8);
  return ~c;
}

}  // namespace

int main() {
  // Pairs (memory, added): subnormal + 0, 0 + subnormal, subnormal + subnormal, normal - normal = subnormal,
  // -0 + -0.
  const std::uint32_t memory[32] = {0x00000001, 0,          0x00400000, 0x00800001,
                                    0x80000000, 0x80000001, 0x3f800000, 0x00000000};
  const std::uint32_t added[32] = {0,          0x00000001, 0x00400000, 0x80800000,
                                   0x80000000, 0x00000001, 0x00000001, 0x80000000};
  float *out = nullptr, *values = nullptr;
  cudaMalloc(&out, 128), cudaMalloc(&values, 128);
  cudaMemcpy(values, added, 128, cudaMemcpyHostToDevice);
  const char* names[3] = {"bulk reduce-add", "bulk store", "atomicAdd"};
  for (int kind = 0; kind < 3; ++kind) {
    cudaMemcpy(out, memory, 128, cudaMemcpyHostToDevice);
    if (kind == 2)
      atomic_add<<<1, 32>>>(out, values);
    else
      bulk_add<<<1, 32>>>(out, values, kind);
    std::uint32_t result[32];
    cudaMemcpy(result, out, 128, cudaMemcpyDeviceToHost);
    std::printf("%s:\n", names[kind]);
    for (int i = 0; i < 8; ++i) std::printf("  %08x + %08x = %08x\n", memory[i], added[i], result[i]);
  }
  const std::size_t count = 1U << 24;
  std::uint32_t* device = nullptr;
  cudaMalloc(&device, count * 4);
  std::vector<std::uint32_t> host(count);
  const char* orders[4] = {"[1,2) then [2,4)", "[1/2,1) then [1,2)", "[2,4) then [1,2)",
                           "[1,2) then [1/2,1)"};
  for (int order = 0; order < 4; ++order) {
    rsqrt_bits<<<count / 256, 256>>>(device, order);
    cudaMemcpy(host.data(), device, count * 4, cudaMemcpyDeviceToHost);
    std::printf("rsqrt over %s: %08x\n", orders[order],
                crc32(reinterpret_cast<unsigned char*>(host.data()), count * 4));
  }
  // The same with parity interleaved: index = mantissa * 2 + parity.
  for (int order = 0; order < 2; ++order) {
    rsqrt_bits<<<count / 256, 256>>>(device, order);
    cudaMemcpy(host.data(), device, count * 4, cudaMemcpyDeviceToHost);
    std::vector<std::uint32_t> mixed(count);
    for (std::size_t i = 0; i < count / 2; ++i)
      mixed[2 * i] = host[i], mixed[2 * i + 1] = host[i + count / 2];
    std::printf("rsqrt interleaved, %s: %08x\n", orders[order],
                crc32(reinterpret_cast<unsigned char*>(mixed.data()), count * 4));
  }
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
