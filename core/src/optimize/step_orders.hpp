// Orders the rows of walks so that no two SMs are in one row at the same step, as if all tasks took the same
// time. Where that succeeds nobody ever waits for a row, and the makespan is that of the packing.
//
// A walk occupies an interval of steps on its SM, and in each of these it takes another one of its rows: an
// edge colouring of the bipartite graph of walks and rows, in which each walk may use the colours of its
// interval only. First a matching of walks and rows at each step, those rows first that most walks still
// need; then tabu search over swaps within walks for what is left.
#pragma once

#include <cstdint>
#include <functional>

#include "../random.hpp"
#include "walks.hpp"

namespace dashlab {

/// Reorders the rows of every walk. `rows` is the number of rows of the problem, `lead` the steps that a walk
/// takes before its first row. The tabu search ends when it has looked at `patience` swaps without a new
/// best; with 0 there is none, nor its table of steps times rows. Ends
/// early when keep_going() is false; the walks are whole all the same.
void order_by_steps(Walks& walks, std::size_t rows, std::uint32_t lead, Random& random,
                    std::uint64_t patience, const std::function<bool()>& keep_going);

}  // namespace dashlab
