// A problem as a user gives it, by flags or in a file: any subset of the fields, from which the rest follows.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "dashlab/core/problem.hpp"

namespace dashlab {

/// Fields carry the names of the command line's flags (--q-tiles is q_tiles).
struct ProblemFields {
  std::optional<std::string> mask;
  std::optional<std::int64_t> tiles, q_tiles, kv_tiles;
  std::optional<std::int64_t> seqlen, seqlen_q, seqlen_k, tile_q, tile_kv;
  std::optional<std::int64_t> batch, heads, kv_heads, head_dim;
};

/// Name (as written after `--`) and member of every whole-number field.
using ProblemField = std::pair<std::string_view, std::optional<std::int64_t> ProblemFields::*>;
inline constexpr std::array<ProblemField, 12> problem_number_fields{{
    {"tiles", &ProblemFields::tiles},
    {"q-tiles", &ProblemFields::q_tiles},
    {"kv-tiles", &ProblemFields::kv_tiles},
    {"seqlen", &ProblemFields::seqlen},
    {"seqlen-q", &ProblemFields::seqlen_q},
    {"seqlen-k", &ProblemFields::seqlen_k},
    {"tile-q", &ProblemFields::tile_q},
    {"tile-kv", &ProblemFields::tile_kv},
    {"batch", &ProblemFields::batch},
    {"heads", &ProblemFields::heads},
    {"kv-heads", &ProblemFields::kv_heads},
    {"head-dim", &ProblemFields::head_dim},
}};

/// The checked problem. Lengths come from --tiles, --q-tiles and --kv-tiles (a problem in tiles) or from
/// --seqlen,
/// --seqlen-q and --seqlen-k (in tokens); a documents or blocks mask supplies what is not given. Throws
/// BadInput naming the field that is missing or that another contradicts.
Problem make_problem(const ProblemFields& fields);

/// The fields that make `problem` again, without those that have their default value.
ProblemFields fields_of(const Problem& problem);

}  // namespace dashlab
