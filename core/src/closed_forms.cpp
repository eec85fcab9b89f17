// The lengths of the named schedules in closed form, where algebra or the DASH paper knows one.
#include <fmt/format.h>

#include "dashlab/core/bounds.hpp"

namespace dashlab {
namespace {

// The quantities the formulas speak of. n is the number of tiles of a square problem.
struct Terms {
  Rational m, n_q, n_kv, sms, c, r, x;
  std::int64_t heads, q_tiles, kv_tiles, sm_count;

  [[nodiscard]] bool square_on_n_sms() const { return q_tiles == kv_tiles && sm_count == kv_tiles; }
};

using Result = std::optional<ClosedForm>;

Rational ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

Result full_form(std::string_view schedule, const Terms& t) {
  if (schedule == "ascending" && t.square_on_n_sms()) {
    return ClosedForm{t.m * t.n_kv * t.x + (t.n_kv - 1) * t.r, "m*n*x + (n-1)*r"};
  }
  if (schedule != "shift") return std::nullopt;
  if (std::min(t.sm_count, t.kv_tiles) <= t.q_tiles) {
    return ClosedForm{ceil_div(t.heads * t.kv_tiles, t.sm_count) * t.n_q * t.x, "ceil(m*n_kv/S)*n_q*x"};
  }
  if (t.heads == 1 && t.sm_count >= t.kv_tiles) {
    const Rational rows = t.n_q * t.x + (ceil_div(t.kv_tiles, t.q_tiles) - 1) * t.r;
    return ClosedForm{std::max(rows, t.c + t.n_kv * t.r), "max(n_q*x + (ceil(n_kv/n_q)-1)*r, c + n_kv*r)"};
  }
  return std::nullopt;
}

Result causal_form(std::string_view schedule, const Terms& t) {
  const Rational n = t.n_kv;
  const bool even_n = t.kv_tiles % 2 == 0;
  const bool even_m = t.heads % 2 == 0;
  if (t.square_on_n_sms()) {
    if (schedule == "ascending") return ClosedForm{t.m * n * t.x + (n - 1) * t.r, "m*n*x + (n-1)*r"};
    if ((schedule == "spt" || schedule == "descending") && t.heads == 1) return ClosedForm{n * t.x, "n*x"};
    if (schedule == "descending" && even_m) {
      return ClosedForm{t.m * (n + 1) * t.x / 2 + (n - 1) * t.r, "m*(n+1)*x/2 + (n-1)*r"};
    }
    if (schedule == "descending") {
      return ClosedForm{((t.m - 1) * (n + 1) / 2 + n) * t.x, "((m-1)*(n+1)/2 + n)*x"};
    }
  }
  if (schedule != "symmetric-shift" || t.q_tiles != t.kv_tiles) return std::nullopt;
  if (even_n) {
    return ClosedForm{ceil_div(t.heads * t.kv_tiles / 2, t.sm_count) * (n + 1) * t.x,
                      "ceil(m*n/2/S)*(n+1)*x"};
  }
  if (t.sm_count == t.kv_tiles && even_m) return ClosedForm{t.m * (n + 1) * t.x / 2, "m*(n+1)*x/2"};
  if (2 * t.sm_count == t.kv_tiles + 1) return ClosedForm{t.m * n * t.x, "m*n*x"};
  return std::nullopt;
}

// A causal window of w tiles beside the diagonal, one head, an SM per kv tile.
Result window_form(std::string_view schedule, const WindowMask& window, const Terms& t) {
  if (window.right != 0 || window.left < 0 || window.left >= t.kv_tiles || t.heads != 1 ||
      !t.square_on_n_sms()) {
    return std::nullopt;
  }
  if (schedule == "ascending") return ClosedForm{t.n_kv * t.x + (t.n_kv - 1) * t.r, "n*x + (n-1)*r"};
  if (schedule == "spt" || schedule == "descending")
    return ClosedForm{(Rational(window.left) + 1) * t.x, "(w+1)*x"};
  return std::nullopt;
}

}  // namespace

Result closed_form(std::string_view schedule, const Problem& problem, std::uint32_t sms, const Costs& costs) {
  const bool plain =
      costs.overlap_depth == 0 && !costs.jitter && costs.link == Rational(0) && costs.chain == Rational(0) &&
      costs.compute_partial.value_or(costs.compute) == costs.compute && problem.group_size() == 1;
  if (!plain || problem.q_tiles() == 0 || problem.kv_tiles() == 0) return std::nullopt;
  const Terms t{problem.total_heads(),
                problem.q_tiles(),
                problem.kv_tiles(),
                sms,
                costs.compute,
                costs.reduce,
                costs.compute + costs.reduce,
                problem.total_heads(),
                problem.q_tiles(),
                problem.kv_tiles(),
                sms};
  if (std::holds_alternative<FullMask>(problem.mask)) return full_form(schedule, t);
  const bool square_tiles =
      problem.in_tiles || (problem.tile_q == problem.tile_kv && problem.seqlen_q == problem.seqlen_k);
  if (!square_tiles) return std::nullopt;
  if (std::holds_alternative<CausalMask>(problem.mask)) return causal_form(schedule, t);
  if (const auto* window = std::get_if<WindowMask>(&problem.mask); window && problem.in_tiles) {
    return window_form(schedule, *window, t);
  }
  return std::nullopt;
}

}  // namespace dashlab
