// The tensors of one attention pass, and the checks that they fit a problem.
#pragma once

#include <string>

#include "dashlab/core/problem.hpp"
#include "dashlab/emulator/tensor.hpp"

namespace dashlab {

/// What the backward pass reads. q, dout, o: [batch, seqlen_q, heads, dim]; k, v: [batch, seqlen_k, kv_heads,
/// dim]; lse: [batch, heads, seqlen_q] F32, natural logarithm, -inf for rows without keys. The forward pass
/// reads q, k, v only.
struct AttentionInputs {
  TensorView q, k, v, dout, o, lse;
};

/// dq like q, dk and dv like k and v, of the inputs' type.
struct Gradients {
  Tensor dq, dk, dv;
};

/// o like q, lse F32 [batch, heads, seqlen_q].
struct ForwardResult {
  Tensor o, lse;
};

enum class Pass : std::uint8_t { forward, backward };

/// 1 / sqrt(head_dim), computed in double and rounded to f32.
float default_scale(std::int64_t head_dim);

/// f32(scale * log2 e), the product taken in double.
float scale_in_log2(float scale);

/// The problem that the shapes of q and k describe, full mask, 128 x 128 tiles. Throws BadInput if they do
/// not fit each other.
Problem problem_of(const AttentionInputs& inputs);

/// Throws BadInput, naming the tensor, when a shape or type does not fit the problem and the pass.
void check(const Problem& problem, const AttentionInputs& inputs, Pass pass);

/// Elements between consecutive sequence positions of a [batch, seq, head, dim] tensor, and the element where
/// the rows of (batch, head) begin. `head` counts over the whole batch.
struct HeadRows {
  std::int64_t first = 0;
  std::int64_t stride = 0;
};
HeadRows head_rows(std::int64_t seqlen, std::int64_t heads, std::int64_t dim, std::int64_t head);

}  // namespace dashlab
