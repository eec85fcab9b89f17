// Eigen's f32 product under a name given by the build, which compiles this file for several vector units.
//
// Eigen's inline functions would be the same symbols in each, and the linker would keep any one of them: so
// each compilation gets an Eigen namespace of its own.
#define Eigen DASHLAB_EIGEN_NAMESPACE
#include <Eigen/Core>
#undef Eigen

#include "eigen_gemm.hpp"

namespace dashlab::bench {

namespace eigen = DASHLAB_EIGEN_NAMESPACE;

void DASHLAB_GEMM_NAME(const float* a, const float* b, float* c, int n) {
  using Matrix = eigen::Matrix<float, eigen::Dynamic, eigen::Dynamic, eigen::RowMajor>;
  const eigen::Map<const Matrix> left(a, n, n);
  const eigen::Map<const Matrix> right(b, n, n);
  eigen::Map<Matrix> result(c, n, n);
  result.noalias() = left * right;
}

}  // namespace dashlab::bench
