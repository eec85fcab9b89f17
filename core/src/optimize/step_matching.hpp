// Step by step, a matching of the walks that are under way and the rows they still need.
#pragma once

#include <cstddef>
#include <functional>

#include "../random.hpp"
#include "walks.hpp"

namespace dashlab {

/// Reorders the rows of every walk: at each step as many walks as possible get rows of their own, first the
/// rows that most walks still need, among them those that have rested longest. A walk that gets none takes
/// any of its rows. Before its first row a walk takes `lead` steps. Ends early, with
/// the rest as it was, when keep_going() is false.
void match_step_by_step(Walks& walks, std::size_t rows, std::uint32_t lead, Random& random,
                        const std::function<bool()>& keep_going);

}  // namespace dashlab
