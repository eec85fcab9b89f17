#include "dashlab/core/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "dashlab/core/error.hpp"
#include "ranges.hpp"

namespace dashlab {
namespace {

std::int64_t total_length(const DocumentsMask& mask) {
  return std::accumulate(mask.documents.begin(), mask.documents.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& document) { return sum + document.length; });
}

}  // namespace

void check_range(std::string_view flag, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high)
    throw BadInput(fmt::format("--{} {}: must lie in {}..{}", flag, value, low, high));
}

Problem tile_problem(std::int64_t q_tiles, std::int64_t kv_tiles, std::int64_t heads, Mask mask) {
  Problem problem;
  problem.heads = heads;
  problem.kv_heads = heads;
  problem.seqlen_q = q_tiles;
  problem.seqlen_k = kv_tiles;
  problem.tile_q = 1;
  problem.tile_kv = 1;
  problem.in_tiles = true;
  problem.mask = std::move(mask);
  check(problem);
  return problem;
}

void check(const Problem& p) {
  check_range("batch", p.batch, 1, max_count);
  check_range("heads", p.heads, 1, max_count);
  check_range("kv-heads", p.kv_heads, 1, p.heads);
  check_range(p.in_tiles ? "q-tiles" : "seqlen-q", p.seqlen_q, 0, max_length(p.in_tiles));
  check_range(p.in_tiles ? "kv-tiles" : "seqlen-k", p.seqlen_k, 0, max_length(p.in_tiles));
  check_range("head-dim", p.head_dim, 1, 1 << 16);
  check_range("tile-q", p.tile_q, 1, 1 << 20);
  check_range("tile-kv", p.tile_kv, 1, 1 << 20);
  if (p.heads % p.kv_heads != 0) {
    throw BadInput(fmt::format("--kv-heads {}: does not divide --heads {}", p.kv_heads, p.heads));
  }
  if (p.batch > max_count / p.heads) {
    throw BadInput(
        fmt::format("--batch {} x --heads {}: more than {} heads in all", p.batch, p.heads, max_count));
  }
  if (p.q_tiles() > max_count || p.kv_tiles() > max_count) {
    throw BadInput(
        fmt::format("--tile-q, --tile-kv: more than {} tiles in a sequence; use larger tiles", max_count));
  }
  if (const auto* documents = std::get_if<DocumentsMask>(&p.mask)) {
    const std::int64_t total = total_length(*documents);
    if (p.seqlen_q != total || p.seqlen_k != total) {
      throw BadInput(
          fmt::format("--mask {}: the lengths sum to {}, but the sequences have {} queries and {} keys",
                      to_string(p.mask), total, p.seqlen_q, p.seqlen_k));
    }
  }
  if (const auto* blocks = std::get_if<BlocksMask>(&p.mask)) {
    if (blocks->q_tiles != p.q_tiles() || blocks->kv_tiles != p.kv_tiles()) {
      throw BadInput(fmt::format("{}: {} x {} cells (q x kv), but the problem has {} x {} tiles",
                                 blocks->file, blocks->q_tiles, blocks->kv_tiles, p.q_tiles(), p.kv_tiles()));
    }
  }
}

VisibleKeys::VisibleKeys(const Problem& problem) : problem_(problem) {
  if (const auto* mask = std::get_if<DocumentsMask>(&problem.mask)) {
    std::int64_t end = 0;
    for (const auto& document : mask->documents) document_end_.push_back(end += document.length);
  }
}

std::size_t VisibleKeys::document_of(std::int64_t q) const {
  const auto end = std::upper_bound(document_end_.begin(), document_end_.end(), q);
  return static_cast<std::size_t>(end - document_end_.begin());
}

bool VisibleKeys::causal_at(std::int64_t q) const {
  const auto* mask = std::get_if<DocumentsMask>(&problem_.mask);
  return mask ? mask->documents[document_of(q)].causal : std::holds_alternative<CausalMask>(problem_.mask);
}

KeyRange VisibleKeys::operator()(std::int64_t q) const {
  const Problem& p = problem_;
  const std::int64_t diagonal = q + p.seqlen_k - p.seqlen_q;
  KeyRange keys{0, p.seqlen_k};
  if (std::holds_alternative<CausalMask>(p.mask)) {
    keys.end = diagonal + 1;
  } else if (const auto* window = std::get_if<WindowMask>(&p.mask)) {
    if (window->left >= 0) keys.begin = diagonal - window->left;
    if (window->right >= 0) keys.end = diagonal + window->right + 1;
  } else if (const auto* mask = std::get_if<DocumentsMask>(&p.mask)) {
    const std::size_t number = document_of(q);
    const auto& document = mask->documents[number];
    keys = {document_end_[number] - document.length, document.causal ? q + 1 : document_end_[number]};
  }
  return {std::clamp<std::int64_t>(keys.begin, 0, p.seqlen_k),
          std::clamp<std::int64_t>(keys.end, 0, p.seqlen_k)};
}

KeyRange visible_keys(const Problem& problem, std::int64_t q) {
  return VisibleKeys(problem)(q);
}

}  // namespace dashlab
