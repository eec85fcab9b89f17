// `audit --recipe auto --schedule auto`: which known kernel made this recording, and if none, what is odd
// about it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dashlab/emulator/audit.hpp"

namespace dashlab {

/// What is fixed; everything else is searched.
struct SearchSpace {
  std::optional<std::string> recipe, schedule;
  std::optional<Mask> mask;
  std::optional<float> scale;
  std::optional<std::int64_t> tile_q, tile_kv;
  std::uint32_t sms = 132;
};

/// One combination that was tried.
struct Candidate {
  RecipeRun run;
  Problem problem;
  std::string schedule;      ///< empty for forward recordings
  std::int64_t rows = 0;     ///< sample rows compared
  std::int64_t fitting = 0;  ///< of them, equal in every bit
};

/// Why no candidate fits, as far as the bits tell.
enum class Oddity : std::uint8_t { none, reduce_order, scale, corruption, unknown };

/// What search() found.
struct SearchResult {
  std::vector<Candidate> candidates;  ///< best first
  AuditSetup best;                    ///< the setup of the first candidate, ready for audit()
  AuditResult verdict;                ///< its whole audit
  Oddity oddity = Oddity::none;
  std::string explanation;  ///< one line for people; empty when it fits
  std::vector<std::uint32_t>
      kv_order;  ///< reduce_order: kv tiles of the first differing row, in the order that fits
};

/// "reduce-order", "scale", "corruption", "unknown" or "none".
std::string to_string(Oddity oddity);

SearchResult search(const Recording& recording, const SearchSpace& space, const RunControl& control);

/// The scale that turns q, k and lse of a few rows into each other, found in double; nothing if rows
/// disagree.
std::optional<double> scale_from_lse(const Problem& problem, const AttentionInputs& inputs);

}  // namespace dashlab
