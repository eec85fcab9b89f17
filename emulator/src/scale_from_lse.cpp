// log-sum-exp of a row grows with the scale of the scores, so the scale can be read back from a recording.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dashlab/core/tile_map.hpp"
#include "dashlab/emulator/audit_search.hpp"
#include "tile_mask.hpp"

namespace dashlab {

namespace {

/// Unscaled scores of one row that its mask lets through.
std::vector<double> visible_scores(const Problem& problem, const AttentionInputs& inputs, std::int64_t head,
                                   std::int64_t q) {
  std::vector<float> terms(static_cast<std::size_t>(problem.seqlen_k), 0.0F);
  mask_row(problem, q, 0, terms);
  const HeadRows q_rows = head_rows(problem.seqlen_q, problem.heads, problem.head_dim, head);
  const HeadRows k_rows = head_rows(problem.seqlen_k, problem.kv_heads, problem.head_dim,
                                    problem.kv_head_of(HeadId{static_cast<std::uint32_t>(head)}));
  std::vector<double> scores;
  for (std::int64_t key = 0; key < problem.seqlen_k; ++key) {
    if (terms[static_cast<std::size_t>(key)] != 0.0F) continue;
    double sum = 0;
    for (std::int64_t i = 0; i < problem.head_dim; ++i)
      sum += static_cast<double>(inputs.q.value(q_rows.first + q * q_rows.stride + i)) *
             static_cast<double>(inputs.k.value(k_rows.first + key * k_rows.stride + i));
    scores.push_back(sum);
  }
  return scores;
}

double log_sum_exp(const std::vector<double>& scores, double scale) {
  const double most = *std::max_element(scores.begin(), scores.end()) * scale;
  double sum = 0;
  for (const double s : scores) sum += std::exp(s * scale - most);
  return most + std::log(sum);
}

/// The scale > 0 at which the row has this log-sum-exp. The function is convex; from its right end bisection
/// is safe.
std::optional<double> solve(const std::vector<double>& scores, double lse) {
  double high = 16;
  if (scores.size() < 2 || !std::isfinite(lse) || log_sum_exp(scores, high) < lse) return std::nullopt;
  double low = 0;
  // Where the minimum of the convex curve lies above 0, only the branch to its right is meant.
  for (double step = high; step > 1e-9; step /= 2)
    if (log_sum_exp(scores, low + step) <= lse) low += step;
  if (low == 0) return std::nullopt;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (log_sum_exp(scores, middle) <= lse ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::optional<double> scale_from_lse(const Problem& problem, const AttentionInputs& inputs) {
  if (std::holds_alternative<BlocksMask>(problem.mask)) return std::nullopt;
  std::vector<double> found;
  constexpr std::int64_t samples = 9;
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t q = (problem.seqlen_q - 1) * (i + 1) / samples;
    const std::int64_t head = i % problem.total_heads();
    const std::vector<double> scores = visible_scores(problem, inputs, head, q);
    if (scores.empty()) continue;
    const auto lse = static_cast<double>(inputs.lse.f32()[head * problem.seqlen_q + q]);
    if (const auto scale = solve(scores, lse)) found.push_back(*scale);
  }
  if (found.size() < 3) return std::nullopt;
  std::sort(found.begin(), found.end());
  const double middle = found[found.size() / 2];
  const auto near = [&](double x) { return std::abs(x - middle) < 1e-3 * middle; };
  if (2 * static_cast<std::size_t>(std::count_if(found.begin(), found.end(), near)) <= found.size())
    return std::nullopt;
  return middle;
}

}  // namespace dashlab
