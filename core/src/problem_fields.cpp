#include "dashlab/core/problem_fields.hpp"

#include <fmt/format.h>

#include "dashlab/core/error.hpp"
#include "ranges.hpp"

namespace dashlab {
namespace {

using Field = std::optional<std::int64_t>;

Field first_of(const Field& a, const Field& b) {
  return a ? a : b;
}

std::int64_t documents_length(const DocumentsMask& mask) {
  std::int64_t sum = 0;
  for (const auto& document : mask.documents) sum += document.length;
  return sum;
}

// --tiles or --seqlen, which one of a side replaces.
void check_both(std::string_view flag, const Field& both, const Field& q, const Field& k, bool in_tiles) {
  if (!both) return;
  check_range(flag, *both, 0, max_length(in_tiles));
  if (q && k) throw BadInput(fmt::format("--{}: both sides have flags of their own; leave it out", flag));
}

}  // namespace

Problem make_problem(const ProblemFields& f) {
  Problem p;
  p.mask = parse_mask(f.mask.value_or("full"));
  const auto* documents = std::get_if<DocumentsMask>(&p.mask);
  const auto* blocks = std::get_if<BlocksMask>(&p.mask);
  const bool tiles_given = f.tiles || f.q_tiles || f.kv_tiles;
  const bool tokens_given = f.seqlen || f.seqlen_q || f.seqlen_k;
  if (tiles_given && tokens_given) {
    throw BadInput("--tiles and --seqlen: a problem is given in tiles or in tokens; leave one out");
  }
  check_both("tiles", f.tiles, f.q_tiles, f.kv_tiles, true);
  check_both("seqlen", f.seqlen, f.seqlen_q, f.seqlen_k, false);
  p.in_tiles = !tokens_given && (tiles_given || blocks != nullptr || !(f.tile_q || f.tile_kv));
  if (p.in_tiles && (f.tile_q || f.tile_kv)) {
    throw BadInput(
        "--tile-q, --tile-kv: a problem in tiles has no tile sizes; give --seqlen instead of --tiles");
  }
  auto q = p.in_tiles ? first_of(f.q_tiles, f.tiles) : first_of(f.seqlen_q, f.seqlen);
  auto k = p.in_tiles ? first_of(f.kv_tiles, f.tiles) : first_of(f.seqlen_k, f.seqlen);
  if (documents) {
    q = first_of(q, documents_length(*documents));
    k = first_of(k, documents_length(*documents));
  }
  if (blocks && p.in_tiles) {
    q = first_of(q, blocks->q_tiles);
    k = first_of(k, blocks->kv_tiles);
  }
  if (!q || !k) {
    if (!q && !k) throw BadInput("the problem has no size; give --tiles N or --seqlen N");
    throw BadInput(p.in_tiles ? "--q-tiles and --kv-tiles: only one is given; give both, or --tiles"
                              : "--seqlen-q and --seqlen-k: only one is given; give both, or --seqlen");
  }
  p.seqlen_q = *q;
  p.seqlen_k = *k;
  const std::int64_t default_tile = p.in_tiles ? 1 : 128;
  p.tile_q = f.tile_q.value_or(default_tile);
  p.tile_kv = f.tile_kv.value_or(default_tile);
  p.batch = f.batch.value_or(1);
  p.heads = f.heads.value_or(1);
  p.kv_heads = f.kv_heads.value_or(p.heads);
  p.head_dim = f.head_dim.value_or(128);
  check(p);
  return p;
}

ProblemFields fields_of(const Problem& p) {
  ProblemFields f;
  f.mask = to_string(p.mask);
  if (p.in_tiles) {
    f.q_tiles = p.seqlen_q;
    f.kv_tiles = p.seqlen_k;
  } else {
    f.seqlen_q = p.seqlen_q;
    f.seqlen_k = p.seqlen_k;
    f.tile_q = p.tile_q;
    f.tile_kv = p.tile_kv;
  }
  const Problem standard;
  if (p.batch != standard.batch) f.batch = p.batch;
  f.heads = p.heads;
  if (p.kv_heads != p.heads) f.kv_heads = p.kv_heads;
  if (p.head_dim != standard.head_dim) f.head_dim = p.head_dim;
  return f;
}

}  // namespace dashlab
