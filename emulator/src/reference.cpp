// Attention in double with Eigen, one block of query rows at a time.
#include "dashlab/emulator/reference.hpp"

#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "dashlab/core/tile_map.hpp"
#include "tile_mask.hpp"

namespace dashlab {

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::int64_t block_rows = 64;

/// Rows of one head of a [batch, seq, head, dim] tensor.
Matrix rows_of(const TensorView& tensor, std::int64_t head, std::int64_t begin, std::int64_t rows) {
  const std::int64_t dim = tensor.shape[3];
  HeadRows place = head_rows(tensor.shape[1], tensor.shape[2], dim, head);
  place.first += begin * place.stride;
  Matrix m(rows, dim);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < dim; ++c)
      m(r, c) = static_cast<double>(tensor.value(place.first + r * place.stride + c));
  return m;
}

void store_rows(const Matrix& m, const Shape& shape, std::int64_t head, std::int64_t begin,
                std::vector<double>& to) {
  const HeadRows place = head_rows(shape[1], shape[2], shape[3], head);
  for (std::int64_t r = 0; r < m.rows(); ++r)
    for (std::int64_t c = 0; c < m.cols(); ++c)
      to[static_cast<std::size_t>(place.first + (begin + r) * place.stride + c)] = m(r, c);
}

/// Whether query q may see each key, as 0 or -inf to add to its scores.
Eigen::VectorXd mask_terms(const Problem& problem, const TileMap& tiles, std::int64_t q) {
  std::vector<float> terms(static_cast<std::size_t>(problem.seqlen_k), 0.0F);
  const bool blocks = std::holds_alternative<BlocksMask>(problem.mask);
  if (!blocks) mask_row(problem, q, 0, terms);
  if (blocks) {
    const auto q_tile = QTile{static_cast<std::uint32_t>(q / problem.tile_q)};
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (tiles.at(q_tile, KvTile{static_cast<std::uint32_t>(static_cast<std::int64_t>(k) /
                                                             problem.tile_kv)}) == TileClass::empty)
        terms[k] = -std::numeric_limits<float>::infinity();
  }
  return Eigen::Map<const Eigen::VectorXf>(terms.data(), static_cast<Eigen::Index>(terms.size()))
      .cast<double>();
}

/// Scores to probabilities, row by row; returns the rows' log-sum-exp.
Eigen::VectorXd softmax(Matrix& s) {
  Eigen::VectorXd lse(s.rows());
  for (Eigen::Index r = 0; r < s.rows(); ++r) {
    const double maximum = s.cols() == 0 ? -std::numeric_limits<double>::infinity() : s.row(r).maxCoeff();
    if (std::isinf(maximum)) {  // no key at all, or none that the mask leaves
      s.row(r).setZero();
      lse(r) = -std::numeric_limits<double>::infinity();
      continue;
    }
    s.row(r) = (s.row(r).array() - maximum).exp().matrix();
    const double sum = s.row(r).sum();
    s.row(r) /= sum;
    lse(r) = maximum + std::log(sum);
  }
  return lse;
}

}  // namespace

Reference fp64_reference(const Problem& problem, const AttentionInputs& inputs, double scale,
                         const RunControl& control) {
  const bool backward = !inputs.dout.empty();
  check(problem, inputs, Pass::forward);
  const TileMap tiles(problem);
  Reference result;
  result.o.resize(static_cast<std::size_t>(inputs.q.elements()));
  result.lse.resize(static_cast<std::size_t>(problem.total_heads() * problem.seqlen_q));
  if (backward) {
    result.dq.resize(result.o.size());
    result.dk.resize(static_cast<std::size_t>(inputs.k.elements()));
    result.dv.resize(result.dk.size());
  }
  parallel_for(static_cast<std::uint64_t>(problem.batch * problem.kv_heads), control,
               [&](std::uint64_t unit) {
                 const auto kv_head = static_cast<std::int64_t>(unit);
                 const Matrix k = rows_of(inputs.k, kv_head, 0, problem.seqlen_k);
                 const Matrix v = rows_of(inputs.v, kv_head, 0, problem.seqlen_k);
                 Matrix dk = Matrix::Zero(k.rows(), k.cols());
                 Matrix dv = dk;
                 for (std::int64_t head = kv_head * problem.group_size();
                      head < (kv_head + 1) * problem.group_size(); ++head) {
                   for (std::int64_t begin = 0; begin < problem.seqlen_q; begin += block_rows) {
                     const std::int64_t rows = std::min(block_rows, problem.seqlen_q - begin);
                     const Matrix q = rows_of(inputs.q, head, begin, rows);
                     Matrix p = (q * k.transpose()) * scale;
                     for (std::int64_t r = 0; r < rows; ++r)
                       p.row(r) += mask_terms(problem, tiles, begin + r).transpose();
                     const Eigen::VectorXd lse = softmax(p);
                     for (std::int64_t r = 0; r < rows; ++r)
                       result.lse[static_cast<std::size_t>(head * problem.seqlen_q + begin + r)] = lse(r);
                     const Matrix o = p * v;
                     store_rows(o, inputs.q.shape, head, begin, result.o);
                     if (!backward) continue;
                     const Matrix dout = rows_of(inputs.dout, head, begin, rows);
                     const Eigen::VectorXd row_dot = dout.cwiseProduct(o).rowwise().sum();
                     Matrix ds = dout * v.transpose();
                     ds.colwise() -= row_dot;
                     ds = ds.cwiseProduct(p);
                     dv.noalias() += p.transpose() * dout;
                     dk.noalias() += ds.transpose() * q * scale;
                     store_rows(ds * k * scale, inputs.q.shape, head, begin, result.dq);
                   }
                 }
                 if (!backward) return;
                 store_rows(dk, inputs.k.shape, kv_head, 0, result.dk);
                 store_rows(dv, inputs.k.shape, kv_head, 0, result.dv);
               });
  return result;
}

ErrorNorms error_norms(const TensorView& tensor, const std::vector<double>& reference) {
  ErrorNorms norms;
  double error2 = 0;
  double reference2 = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double expected = reference[static_cast<std::size_t>(i)];
    const auto value = static_cast<double>(tensor.value(i));
    if (value == expected) {
      if (std::isfinite(expected)) reference2 += expected * expected;
      continue;
    }
    const double error = std::abs(value - expected);
    norms.max_abs = error > norms.max_abs || std::isnan(error) ? error : norms.max_abs;
    error2 += error * error;
    reference2 += expected * expected;
  }
  norms.relative_l2 = error2 == 0 ? 0 : std::sqrt(error2 / reference2);
  return norms;
}

}  // namespace dashlab
