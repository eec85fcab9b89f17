// The part of verification that needs no running: every task once, chains whole, reduce orders complete.
#pragma once

#include "dashlab/core/verify.hpp"

namespace dashlab {

/// Collects errors, at most ten of a kind.
class ErrorList {
 public:
  explicit ErrorList(std::vector<VerifyError>& errors) : errors_(errors) {}
  void add(ErrorKind kind, std::string message, std::vector<CycleStep> cycle = {});
  [[nodiscard]] bool empty() const noexcept { return errors_.empty(); }
  [[nodiscard]] bool has(ErrorKind kind) const noexcept;

 private:
  std::vector<VerifyError>& errors_;
};

/// Throws BadInput when the schedule's arrays do not fit together or name heads or tiles that the problem
/// lacks.
void check_shape(const Problem& problem, const TileMap& tiles, const Schedule& schedule);

void check_completeness(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                        ErrorList& errors);

}  // namespace dashlab
