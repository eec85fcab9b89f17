// The product of the profile ieee-fp32: for each element a chain of fused multiply-adds, k ascending. Lanes
// run over columns, so each element's chain is the same as in a scalar loop. Compiled once for each vector
// unit.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/product_ieee.cpp"
#include "src/simd_targets.hpp"
//
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "dashlab/emulator/product.hpp"
#include "dashlab/emulator/scalar_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace dashlab::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
constexpr int lanes = static_cast<int>(hn::MaxLanes(Floats()));
constexpr int vectors = 4;  // chains side by side: as many as hide the latency of one
constexpr int block_cols = vectors * lanes;

/// One row of C, block_cols columns, over the whole depth. b is dense: [k][block_cols].
HWY_INLINE void row_chain(const FloatMatrixView& a, int row, const float* b, float* c) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON
  const Floats d;
  auto sum0 = hn::LoadU(d, c), sum1 = hn::LoadU(d, c + lanes);
  auto sum2 = hn::LoadU(d, c + 2 * lanes), sum3 = hn::LoadU(d, c + 3 * lanes);
  for (int k = 0; k < a.cols; ++k, b += block_cols) {
    const auto factor = hn::Set(d, a.data[row * a.row_stride + k * a.col_stride]);
    sum0 = hn::MulAdd(factor, hn::Load(d, b), sum0);
    sum1 = hn::MulAdd(factor, hn::Load(d, b + lanes), sum1);
    sum2 = hn::MulAdd(factor, hn::Load(d, b + 2 * lanes), sum2);
    sum3 = hn::MulAdd(factor, hn::Load(d, b + 3 * lanes), sum3);
  }
  hn::StoreU(sum0, d, c), hn::StoreU(sum1, d, c + lanes);
  hn::StoreU(sum2, d, c + 2 * lanes), hn::StoreU(sum3, d, c + 3 * lanes);
#else  // no fused lanes on this unit
  for (int k = 0; k < a.cols; ++k, b += block_cols) {
    const float factor = a.data[row * a.row_stride + k * a.col_stride];
    for (int n = 0; n < block_cols; ++n) c[n] = std::fma(factor, b[n], c[n]);
  }
#endif
}

void product_ieee_here(const FloatMatrixView& a, const FloatMatrixView& b, float* c, std::ptrdiff_t ldc,
                       Start start) {
  AlignedVector<float> dense(static_cast<std::size_t>(b.rows) * block_cols);
  for (int begin = 0; begin < b.cols; begin += block_cols) {
    const int columns = std::min(block_cols, b.cols - begin);
    for (int k = 0; k < b.rows; ++k) {
      float* to = dense.data() + std::ptrdiff_t{k} * block_cols;
      for (int n = 0; n < columns; ++n) to[n] = b.data[k * b.row_stride + (begin + n) * b.col_stride];
    }
    for (int row = 0; row < a.rows; ++row) {
      float sums[block_cols] = {};
      float* out = c + row * ldc + begin;
      if (start == Start::accumulate) std::copy_n(out, columns, sums);
      row_chain(a, row, dense.data(), sums);
      for (int n = 0; n < columns; ++n) out[n] = canonical(sums[n]);
    }
  }
}

}  // namespace
}  // namespace dashlab::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dashlab {
namespace detail {
namespace {
HWY_EXPORT(product_ieee_here);
}  // namespace
}  // namespace detail

void product_ieee(const FloatMatrixView& a, const FloatMatrixView& b, float* c, std::ptrdiff_t ldc,
                  Start start) {
  if (a.cols != b.rows) throw std::invalid_argument("product_ieee: depths differ");
  using namespace detail;
  HWY_DYNAMIC_DISPATCH(product_ieee_here)(a, b, c, ldc, start);
}

}  // namespace dashlab
#endif
