// Eigen's f32 matrix product, compiled once for each vector unit worth comparing with.
#pragma once

namespace dashlab::bench {

/// c = a b, all n x n, row-major.
using Gemm = void (*)(const float* a, const float* b, float* c, int n);

void gemm_baseline(const float* a, const float* b, float* c, int n);
void gemm_avx2(const float* a, const float* b, float* c, int n);
void gemm_avx512(const float* a, const float* b, float* c, int n);

}  // namespace dashlab::bench
