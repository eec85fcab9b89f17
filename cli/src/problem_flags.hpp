// The flags that describe a problem, a schedule and costs, the same for every command that takes them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "dashlab/core/costs.hpp"
#include "dashlab/core/problem.hpp"
#include "dashlab/core/schedule.hpp"

namespace dashlab::cli {

/// --mask --tiles --q-tiles --kv-tiles --seqlen --seqlen-q --seqlen-k --tile-q --tile-kv --batch --heads
/// --kv-heads
/// --head-dim. Values not given stay unset, so that a file's metadata can supply them.
struct ProblemFlags {
  std::optional<std::string> mask;
  std::optional<std::int64_t> tiles, q_tiles, kv_tiles;
  std::optional<std::int64_t> seqlen, seqlen_q, seqlen_k, tile_q, tile_kv;
  std::optional<std::int64_t> batch, heads, kv_heads, head_dim;

  void add_to(CLI::App& command);
  /// The checked problem; BadInput says which flag is missing or contradicts another.
  [[nodiscard]] Problem problem() const;
};

/// --schedule NAME|FILE --sms N --group per-head|gathered.
struct ScheduleFlags {
  std::optional<std::string> schedule;
  std::optional<std::uint32_t> sms;
  std::string group = "per-head";

  void add_to(CLI::App& command);
  /// --sms, or its default: the kv tiles for a problem in tiles, else 132.
  [[nodiscard]] std::uint32_t sms_for(const Problem& problem) const;
  /// Builds the named schedule (default `fallback`) or reads the file; a file must be for the same problem.
  [[nodiscard]] Schedule make(const Problem& problem, const TileMap& tiles,
                              const std::string& fallback) const;
};

/// --compute --compute-partial --reduce --link --model serial|overlapped:D --jitter SIGMA:SEED.
struct CostFlags {
  std::string compute = "1", reduce = "0.25", link = "0", model = "serial";
  std::optional<std::string> compute_partial, jitter;

  void add_to(CLI::App& command);
  [[nodiscard]] Costs costs() const;
};

}  // namespace dashlab::cli
