// Tries every known combination on a few sample rows, then the best one on everything.
#include "dashlab/emulator/audit_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "dashlab/core/error.hpp"
#include "dashlab/emulator/fa2.hpp"
#include "dashlab/emulator/probe.hpp"

namespace dashlab {

namespace {

/// Rows of dq, and half as many of dk and dv, compared for every candidate, and again for those that still
/// tie.
constexpr std::int64_t sample_rows = 8;
constexpr std::int64_t tie_rows = 64;

/// Tile sizes of known kernels: FA3's and DASH's for the problem first, then those of other head dims and
/// versions.
std::vector<TileShape> known_tiles(const Problem& problem, const SearchSpace& space) {
  std::vector<TileShape> shapes{recipe_tiles("fa3", Pass::backward, problem)};
  for (const TileShape shape : {TileShape{64, 128}, TileShape{80, 128}, TileShape{128, 128},
                                TileShape{64, 96}, TileShape{64, 80}, TileShape{64, 64}, TileShape{128, 64}})
    if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
  if (!space.tile_q && !space.tile_kv) return shapes;
  std::vector<TileShape> fixed;
  for (TileShape shape : shapes) {
    shape = {space.tile_q.value_or(shape.q), space.tile_kv.value_or(shape.kv)};
    if (std::find(fixed.begin(), fixed.end(), shape) == fixed.end()) fixed.push_back(shape);
  }
  return fixed;
}

/// Known schedules, FA3's own for the mask first: where orders cannot be told apart, the likelier one is
/// named.
std::vector<std::string> known_schedules(const Problem& problem) {
  std::vector<std::string> names{std::string(recipe_schedule("fa3", problem))};
  for (const char* name : {"spt", "ascending", "descending", "shift", "symmetric-shift"})
    if (names.front() != name) names.emplace_back(name);
  return names;
}

/// Bits of one row of a recorded [batch, seq, head, dim] tensor.
std::vector<std::uint32_t> recorded_row(const TensorView& tensor, std::int64_t head, std::int64_t row) {
  HeadRows place = head_rows(tensor.shape[1], tensor.shape[2], tensor.shape[3], head);
  place.first += row * place.stride;
  std::vector<std::uint32_t> bits;
  for (std::int64_t i = 0; i < tensor.shape[3]; ++i) bits.push_back(tensor.bits(place.first + i));
  return bits;
}

std::vector<std::vector<float>> partials_of(const Probe& probe, std::uint32_t head, std::int64_t q,
                                            std::span<const std::uint32_t> kv_tiles) {
  std::vector<std::vector<float>> partials;
  for (const std::uint32_t kv : kv_tiles) partials.push_back(probe.dq_partial(head, q, kv));
  return partials;
}

/// Compares `samples` more rows of dq, and half as many of dk and dv. Groups that share kv heads are judged
/// by dq alone.
void try_rows(const Recording& recording, Candidate& candidate, std::int64_t samples) {
  const Problem& problem = candidate.problem;
  const TileMap tiles(problem);
  Schedule schedule;
  if (candidate.run.recipe != "fa2-torch")
    schedule = make_schedule(candidate.schedule, problem, tiles, {candidate.run.sms, GroupMode::per_head});
  schedule = schedule_of(candidate.run, problem, tiles, schedule);
  const auto probe = make_probe(candidate.run, problem, tiles, recording.inputs);
  const auto q_tiles = static_cast<std::size_t>(problem.q_tiles());
  for (std::int64_t i = 0; i < samples; ++i) {
    const auto head = static_cast<std::uint32_t>(i % problem.total_heads());
    const std::int64_t q = (problem.seqlen_q - 1) * (2 * i + 1) / (2 * samples - 1);
    const auto order = schedule.reduce_order(head * q_tiles + static_cast<std::size_t>(q / problem.tile_q));
    ++candidate.rows;
    std::vector<std::uint32_t> expected(static_cast<std::size_t>(problem.head_dim), 0);
    if (!order.empty())
      expected = probe->dq_row(partials_of(*probe, head, q, order), {order.begin(), order.end()});
    candidate.fitting += expected == recorded_row(recording.dq, head, q);
  }
  if (problem.group_size() > 1) return;
  const std::int64_t kv_samples = samples / 2;
  for (std::int64_t i = 0; i < kv_samples; ++i) {
    const auto head = static_cast<std::uint32_t>(i % problem.total_heads());
    const std::int64_t key = (problem.seqlen_k - 1) * i / (kv_samples - 1);
    const auto tile = static_cast<std::uint32_t>(key / problem.tile_kv);
    const auto chain = std::find(schedule.chains.begin(), schedule.chains.end(), Chain{head, tile, false});
    if (chain == schedule.chains.end()) continue;
    KvRow row;
    for (const std::uint32_t q :
         schedule.chain_steps(static_cast<std::size_t>(chain - schedule.chains.begin())))
      probe->kv_step(row, head, key, q);
    candidate.rows += 2;
    candidate.fitting += probe->rounded(row.dk, true) == recorded_row(recording.dk, head, key);
    candidate.fitting += probe->rounded(row.dv, false) == recorded_row(recording.dv, head, key);
  }
}

AuditSetup setup_of(const Candidate& candidate, Pass pass) {
  AuditSetup setup;
  setup.run = candidate.run;
  setup.problem = candidate.problem;
  if (pass == Pass::forward) {
    setup.forward_tiles = TileShape{candidate.problem.tile_q, candidate.problem.tile_kv};
    return setup;
  }
  const TileMap tiles(setup.problem);
  if (candidate.run.recipe == "fa2-torch") {
    setup.schedule.name = "fa2-torch";
  } else {
    setup.schedule =
        make_schedule(candidate.schedule, setup.problem, tiles, {candidate.run.sms, GroupMode::per_head});
  }
  return setup;
}

/// Scales worth a try: the given one, 1/sqrt(d), and what lse says, snapped to 1/sqrt(n) or 1/n where one is
/// near.
std::vector<float> known_scales(const Recording& recording, const Problem& problem,
                                const SearchSpace& space) {
  if (space.scale) return {*space.scale};
  std::vector<float> scales{default_scale(problem.head_dim)};
  const auto read = scale_from_lse(problem, recording.inputs);
  if (!read) return scales;
  const double n = std::round(1 / (*read * *read));
  constexpr double tolerance = 1e-3;
  double snapped = *read;
  if (n >= 1 && std::abs(1 / std::sqrt(n) / *read - 1) < tolerance) snapped = 1 / std::sqrt(n);
  const auto value = static_cast<float>(snapped);
  if (std::find(scales.begin(), scales.end(), value) == scales.end()) scales.push_back(value);
  return scales;
}

/// Adds what is worth a try for one mask and one scale.
void add_backward_candidates(std::vector<Candidate>& out, Problem problem, float scale, bool f32,
                             const SearchSpace& space) {
  const std::string family = space.recipe.value_or(f32 ? "dashlab" : "fa3");
  if (family != "fa2-torch") {
    for (const TileShape shape : known_tiles(problem, space)) {
      problem.tile_q = shape.q;
      problem.tile_kv = shape.kv;
      std::vector<std::string> names = known_schedules(problem);
      if (space.schedule) names = {*space.schedule};
      for (const std::string& name : names) out.push_back({{family, scale, space.sms}, problem, name});
    }
  }
  // PyTorch's kernel leaves no choice of schedule and tiles.
  const bool chosen = space.schedule || space.tile_q || space.tile_kv;
  if (!f32 && !chosen && (!space.recipe || *space.recipe == "fa2-torch")) {
    const TileShape own = fa2_backward_tiles(problem.head_dim);
    problem.tile_q = own.q;
    problem.tile_kv = own.kv;
    out.push_back({{"fa2-torch", scale, space.sms}, problem, "fa2-torch"});
  }
}

void add_forward_candidates(std::vector<Candidate>& out, Problem problem, float scale, bool f32,
                            const SearchSpace& space) {
  for (const std::string_view recipe : recipe_names()) {
    if (space.recipe ? *space.recipe != recipe : (recipe == "dashlab") != f32) continue;
    if (recipe == "fa2-torch" && (space.tile_q || space.tile_kv)) continue;
    const TileShape own = recipe_tiles(recipe, Pass::forward, problem);
    problem.tile_q = space.tile_q.value_or(own.q);
    problem.tile_kv = space.tile_kv.value_or(own.kv);
    out.push_back({{std::string(recipe), scale, space.sms}, problem, ""});
  }
}

std::vector<Candidate> candidates(const Recording& recording, const SearchSpace& space) {
  std::vector<Candidate> out;
  std::vector<Mask> masks{FullMask{}, CausalMask{}};
  if (space.mask) masks = {*space.mask};
  const bool f32 = recording.inputs.q.dtype == DType::f32;
  const auto add = recording.pass == Pass::forward ? add_forward_candidates : add_backward_candidates;
  for (const Mask& mask : masks) {
    Problem problem = problem_of(recording.inputs);
    problem.mask = mask;
    for (const float scale : known_scales(recording, problem, space)) add(out, problem, scale, f32, space);
  }
  return out;
}

/// An order of the row's kv tiles that gives exactly the recorded row, if there is one among all
/// permutations.
std::vector<std::uint32_t> fitting_order(const Recording& recording, const SearchResult& result,
                                         const FirstDifference& first) {
  constexpr std::size_t most_tiles = 8;
  if (result.best.run.recipe == "fa2-torch") return {};
  const Problem& problem = result.best.problem;
  const TileMap tiles(problem);
  const auto head = static_cast<std::uint32_t>(first.index[0] * problem.heads + first.index[2]);
  const std::int64_t q = first.index[1];
  const auto row = tiles.row(QTile{static_cast<std::uint32_t>(q / problem.tile_q)});
  if (row.size() < 2 || row.size() > most_tiles) return {};
  const auto probe = make_probe(result.best.run, problem, tiles, recording.inputs);
  const auto partials = partials_of(*probe, head, q, row);
  const auto recorded = recorded_row(recording.dq, head, q);
  std::vector<std::uint32_t> order(row.size());
  std::iota(order.begin(), order.end(), 0u);
  do {
    std::vector<std::vector<float>> ordered;
    for (const std::uint32_t i : order) ordered.push_back(partials[i]);
    if (probe->dq_row(ordered, order) != recorded) continue;
    for (std::uint32_t& i : order) i = row[i];
    return order;
  } while (std::next_permutation(order.begin(), order.end()));
  return {};
}

void explain(const Recording& recording, const SearchSpace& space, SearchResult& result) {
  if (result.verdict.equal()) return;
  std::int64_t differ = 0;
  std::int64_t elements = 0;
  std::int64_t last_place = 0;
  const Finding* dq = nullptr;
  bool only_dq = true;
  for (const Finding& finding : result.verdict.findings) {
    differ += finding.comparison.differ;
    elements += finding.comparison.elements;
    last_place += finding.comparison.ulp_histogram[1];
    if (finding.name == "dq" && finding.comparison.differ != 0) dq = &finding;
    if (finding.name != "dq" && finding.comparison.differ != 0) only_dq = false;
  }
  if (dq != nullptr && only_dq) {
    result.kv_order = fitting_order(recording, result, *dq->first);
    if (!result.kv_order.empty()) {
      result.oddity = Oddity::reduce_order;
      result.explanation = fmt::format(
          "looks like another reduce order: dk and dv fit, and the first differing row of dq ({}) fits in "
          "every bit when "
          "the kv tiles add in the order {}",
          dq->first->tile, fmt::join(result.kv_order, " "));
      return;
    }
  }
  const auto read = scale_from_lse(result.best.problem, recording.inputs);
  const auto used = static_cast<double>(result.best.run.scale);
  if (space.scale && read && std::abs(*read / used - 1) > 1e-3) {
    result.oddity = Oddity::scale;
    result.explanation =
        fmt::format("looks like a different scale: q, k and lse fit scale {:.7g}, not {:.7g}", *read, used);
    return;
  }
  // A known kernel in another order differs by one unit in the last place here and there; damage does not.
  constexpr std::int64_t few = 4;
  if (differ <= few || (differ * 10000 <= elements && 2 * last_place < differ)) {
    result.oddity = Oddity::corruption;
    result.explanation =
        fmt::format("looks like plain corruption: {} of {} elements differ, the rest fits in every bit",
                    differ, elements);
    return;
  }
  result.oddity = Oddity::unknown;
  result.explanation = "another kernel, tile size or mask: no known combination comes close";
}

}  // namespace

std::string to_string(Oddity oddity) {
  switch (oddity) {
    case Oddity::none:
      return "none";
    case Oddity::reduce_order:
      return "reduce-order";
    case Oddity::scale:
      return "scale";
    case Oddity::corruption:
      return "corruption";
    case Oddity::unknown:
      break;
  }
  return "unknown";
}

SearchResult search(const Recording& recording, const SearchSpace& space, const RunControl& control) {
  SearchResult result;
  if (recording.pass == Pass::forward) {
    // A forward pass is quick: each candidate is judged whole.
    std::optional<std::int64_t> least;
    for (Candidate& candidate : candidates(recording, space)) {
      try {
        const AuditSetup setup = setup_of(candidate, Pass::forward);
        AuditResult verdict = audit(recording, setup, control);
        std::int64_t differ = 0;
        for (const Finding& finding : verdict.findings) {
          candidate.rows += finding.comparison.elements;
          differ += finding.comparison.differ;
        }
        candidate.fitting = candidate.rows - differ;
        result.candidates.push_back(candidate);
        if (least && *least <= differ) continue;
        least = differ;
        result.best = setup;
        result.verdict = std::move(verdict);
      } catch (const BadInput&) {  // a recipe that is not made for this problem
        continue;
      }
    }
  } else {
    for (Candidate& candidate : candidates(recording, space)) {
      if (control.stop != nullptr && control.stop->load()) throw Interrupted();
      try {
        try_rows(recording, candidate, sample_rows);
        result.candidates.push_back(candidate);
      } catch (const BadInput&) {  // a schedule that has no meaning for this problem
        continue;
      }
    }
  }
  if (result.candidates.empty())
    throw BadInput(
        "audit: no known recipe and schedule fit this problem; name them with --recipe and --schedule");
  const auto better = [](const Candidate& x, const Candidate& y) {
    return x.fitting * y.rows > y.fitting * x.rows;
  };
  std::stable_sort(result.candidates.begin(), result.candidates.end(), better);
  if (recording.pass == Pass::backward) {
    const Candidate leader = result.candidates.front();
    for (Candidate& candidate : result.candidates) {
      if (better(leader, candidate)) break;
      try_rows(recording, candidate, tie_rows);
    }
    std::stable_sort(result.candidates.begin(), result.candidates.end(), better);
    // Sample rows cannot tell all candidates apart; the first of the best few that fits everywhere wins.
    constexpr std::size_t most_audits = 6;
    std::int64_t least = -1;
    for (std::size_t i = 0; i < std::min(most_audits, result.candidates.size()); ++i) {
      if (result.candidates[i].fitting * 2 < result.candidates[0].fitting) break;
      const AuditSetup setup = setup_of(result.candidates[i], Pass::backward);
      AuditResult verdict = audit(recording, setup, control);
      std::int64_t differ = 0;
      for (const Finding& finding : verdict.findings) differ += finding.comparison.differ;
      if (least >= 0 && differ >= least) continue;
      least = differ;
      result.best = setup;
      result.verdict = std::move(verdict);
      std::rotate(result.candidates.begin(), result.candidates.begin() + static_cast<std::ptrdiff_t>(i),
                  result.candidates.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      if (differ == 0) break;
    }
  }
  explain(recording, space, result);
  return result;
}

}  // namespace dashlab
