// What tasks cost and how a pipeline overlaps them: the parameters of the simulator.
#pragma once

#include <cstdint>
#include <optional>

#include "dashlab/core/rational.hpp"

namespace dashlab {

/// Random extra time: every phase is multiplied by exp(sigma * N(0,1)), drawn from a counter-based generator,
/// so a run is fixed by its seed and does not depend on the order in which the simulator visits tasks.
struct Jitter {
  double sigma = 0;
  std::uint64_t seed = 0;
};

/// Times in units of the paper's c (or any unit: only ratios matter). All >= 0, compute + reduce > 0.
struct Costs {
  Rational compute = 1;                     ///< compute phase of a full tile
  std::optional<Rational> compute_partial;  ///< of a partial tile; as a full one if not set
  Rational reduce{1, 4};                    ///< dQ add of one tile
  Rational chain = 0;                       ///< start and end of a chain: added to its first compute phase
  Rational link = 0;                        ///< hand-over of a row between two different SMs
  int overlap_depth = 0;                    ///< 0 serial; D: compute k waits for reduce k-1-D
  std::optional<Jitter> jitter;
};

}  // namespace dashlab
