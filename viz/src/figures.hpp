// The line of figures under a run's title, the same in every picture.
#pragma once

#include <string>

#include "dashlab/core/timeline.hpp"
#include "dashlab/viz/bubbles.hpp"

namespace dashlab::viz {

/// "makespan 24.25 c · bubble 7.2 % (waiting for a rank 3.6 %) · lower bound 22.5 c".
std::string figures_text(const Timeline& timeline, const Bubbles& bubbles);

}  // namespace dashlab::viz
