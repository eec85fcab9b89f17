// Shapes of attention tensors and what follows from them.
#include "dashlab/emulator/attention.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "dashlab/core/error.hpp"

namespace dashlab {

namespace {

void expect(const TensorView& tensor, const char* name, const Shape& shape, DType dtype) {
  if (tensor.empty()) throw BadInput(fmt::format("tensor '{}' is missing; give it", name));
  if (tensor.shape != shape)
    throw BadInput(fmt::format("tensor '{}' has shape {}; the others need {}", name, to_string(tensor.shape),
                               to_string(shape)));
  if (tensor.dtype != dtype)
    throw BadInput(fmt::format("tensor '{}' is {}; it must be {} like the others", name,
                               to_string(tensor.dtype), to_string(dtype)));
}

}  // namespace

float default_scale(std::int64_t head_dim) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
}

float scale_in_log2(float scale) {
  return static_cast<float>(static_cast<double>(scale) * std::numbers::log2e);
}

Problem problem_of(const AttentionInputs& inputs) {
  const Shape& q = inputs.q.shape;
  const Shape& k = inputs.k.shape;
  if (q.size() != 4 || k.size() != 4)
    throw BadInput(fmt::format("q has shape {} and k {}; both must be [batch, seq, head, dim]", to_string(q),
                               to_string(k)));
  if (q[0] != k[0] || q[3] != k[3])
    throw BadInput(
        fmt::format("q has shape {} and k {}; batch and head dim must agree", to_string(q), to_string(k)));
  Problem problem;
  problem.batch = q[0];
  problem.heads = q[2];
  problem.kv_heads = k[2];
  problem.seqlen_q = q[1];
  problem.seqlen_k = k[1];
  problem.head_dim = q[3];
  return problem;
}

void check(const Problem& problem, const AttentionInputs& inputs, Pass pass) {
  const Shape q{problem.batch, problem.seqlen_q, problem.heads, problem.head_dim};
  const Shape k{problem.batch, problem.seqlen_k, problem.kv_heads, problem.head_dim};
  const DType type = inputs.q.dtype;
  if (problem.in_tiles) throw BadInput("a problem in tiles has no tensors; give --seqlen instead of --tiles");
  if (problem.head_dim % 16 != 0)
    throw BadInput(fmt::format("--head-dim {}: not a multiple of 16; pad the heads", problem.head_dim));
  expect(inputs.q, "q", q, type);
  expect(inputs.k, "k", k, type);
  expect(inputs.v, "v", k, type);
  if (pass == Pass::forward) return;
  expect(inputs.dout, "do", q, type);
  expect(inputs.o, "o", q, type);
  expect(inputs.lse, "lse", {problem.batch, problem.heads, problem.seqlen_q}, DType::f32);
}

HeadRows head_rows(std::int64_t seqlen, std::int64_t heads, std::int64_t dim, std::int64_t head) {
  return {head / heads * seqlen * heads * dim + head % heads * dim, heads * dim};
}

}  // namespace dashlab
