// The DAG behind draw_dag: nodes on a grid of SMs by steps, and typed edges. No drawing here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "dashlab/viz/dag_picture.hpp"

namespace dashlab::viz {

struct DagNode {
  std::uint32_t head = 0, q = 0, kv = 0;
  std::uint32_t sm = 0, step = 0;  ///< place on the grid
  std::uint32_t chain = 0, rank = 0;
  std::uint32_t tasks = 1;  ///< more than one: a collapsed chain
  bool second_pass = false;
  bool phantom = false;  ///< named by a reduce order, but no task: it never adds
  bool critical = false, in_cycle = false;
};

enum class EdgeKind : std::uint8_t { program, reduce, group };

struct DagEdge {
  std::size_t from = 0, to = 0;
  EdgeKind kind = EdgeKind::program;
  bool critical = false, against_lemma1 = false, in_cycle = false;
  std::string wait;  ///< what waits for what, on the edges of a deadlock
};

struct Dag {
  std::vector<DagNode> nodes;
  std::vector<DagEdge> edges;
  std::uint32_t rows = 0;  ///< SMs; phantoms stand in row `rows`
  std::uint32_t columns = 0;
  bool phantoms = false;
  bool collapsed = false;  ///< nodes are chains
  std::string note;        ///< what was left out or assumed; empty if nothing
  std::uint64_t tasks = 0, reduce_edges = 0, against_lemma1 = 0;  ///< of the whole schedule
};

Dag build_dag(const DagInput& input, const DagStyle& style);

}  // namespace dashlab::viz
