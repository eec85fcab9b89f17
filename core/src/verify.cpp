#include "dashlab/core/verify.hpp"

#include "completeness.hpp"
#include "deadlock.hpp"

namespace dashlab {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::deadlock:
      return "deadlock";
    case ErrorKind::missing_task:
      return "missing-task";
    case ErrorKind::duplicate_task:
      return "duplicate-task";
    case ErrorKind::extra_task:
      return "extra-task";
    case ErrorKind::split_chain:
      return "split-chain";
    case ErrorKind::bad_reduce_order:
      return "bad-reduce-order";
    case ErrorKind::residency:
      return "residency";
  }
  return "";
}

Verification verify(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                    std::uint64_t resident) {
  check_shape(problem, tiles, schedule);
  Verification result;
  ErrorList errors(result.errors);
  check_completeness(problem, tiles, schedule, errors);
  result.deadlock_free = check_deadlock(problem, tiles, schedule, resident, errors);
  result.valid = errors.empty();
  return result;
}

}  // namespace dashlab
