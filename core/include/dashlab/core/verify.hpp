// Proof that a schedule is complete and free of deadlock, or the shortest reason why it is not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dashlab/core/costs.hpp"
#include "dashlab/core/problem.hpp"
#include "dashlab/core/schedule.hpp"

namespace dashlab {

enum class ErrorKind : std::uint8_t {
  deadlock,
  missing_task,
  duplicate_task,
  extra_task,  ///< a chain visits a tile that the mask leaves empty
  split_chain,
  bad_reduce_order,
  residency
};

/// One wait of a deadlock: this task cannot reduce until the next one of the cycle has.
struct CycleStep {
  HeadId head{};
  QTile q{};
  KvTile kv{};
  SmId sm{};                ///< static placement: where it would run
  bool by_program = false;  ///< reached from the previous step by program order (else by reduce order)
};

/// One thing that is wrong.
struct VerifyError {
  ErrorKind kind{};
  std::string message;           ///< one line that names the tiles
  std::vector<CycleStep> cycle;  ///< deadlock and residency only
};

/// The verdict on a schedule.
struct Verification {
  bool valid = false;  ///< no errors at all
  bool deadlock_free = false;
  std::vector<VerifyError> errors;
};

/// "deadlock", "missing-task", ...
std::string_view to_string(ErrorKind kind);

/// Checks completeness, reduce orders and deadlock freedom with at most `resident` CTAs at a time, launched
/// in order (0: as many as the schedule has SMs). At most 10 errors of each kind are kept.
Verification verify(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                    std::uint64_t resident = 0);

/// How a schedule would run if no add ever had to wait for its rank.
struct Alignment {
  bool conflict_free = false;  ///< no two SMs ever reduce into one row at the same time
  bool lemma1 = false;  ///< every add of a row begins after its predecessor ended: the added edges keep
                        ///< depth(u) <= depth(v) (Lemma 1 of the DASH paper), so they cost nothing
};

/// Costs as given, without link and jitter, in the serial model. True for schedules without reduce orders.
Alignment alignment(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                    const Costs& costs);

}  // namespace dashlab
