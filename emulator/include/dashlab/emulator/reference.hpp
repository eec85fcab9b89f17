// The pass in double precision, and how far results lie from it.
#pragma once

#include <cstdint>
#include <vector>

#include "dashlab/emulator/attention.hpp"
#include "dashlab/emulator/parallel.hpp"

namespace dashlab {

/// fp64 results, in the layouts of Gradients and ForwardResult. Gradients are empty when no dout was given.
struct Reference {
  std::vector<double> o, lse, dq, dk, dv;
};

/// Attention and its gradients of q, k, v (and dout) in double. It computes o and lse itself and streams
/// blocks of query rows. Parallel over kv heads.
Reference fp64_reference(const Problem& problem, const AttentionInputs& inputs, double scale,
                         const RunControl& control);

/// Distance of a tensor from its reference.
struct ErrorNorms {
  double max_abs = 0;      ///< largest |x - ref|
  double relative_l2 = 0;  ///< ||x - ref|| / ||ref||; 0 where both are 0
};

/// Infinite references (lse of rows without keys) must be met exactly and are left out of the norms.
ErrorNorms error_norms(const TensorView& tensor, const std::vector<double>& reference);

}  // namespace dashlab
