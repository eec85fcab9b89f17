// Identities for cgraph that do not depend on where the heap lies.
#pragma once

#include <graphviz/cgraph.h>

namespace dashlab::viz {

/// A new graph whose named objects are numbered in the order in which they are made. cgraph's own identities
/// are addresses of names, and up to Graphviz 8 it visits subgraphs in that order: the same picture would
/// come out with its clusters in another order from run to run. Null when cgraph cannot make one.
Agraph_t* open_graph(const char* name);

}  // namespace dashlab::viz
