// One row of a result, step by step: what each tile adds to a row of dQ, and what dK and dV hold after each q
// tile. Rows do not depend on each other, so a probe costs next to nothing; searches and traces are made of
// it.
#pragma once

#include <memory>
#include <vector>

#include "dashlab/core/schedule.hpp"
#include "dashlab/core/tile_map.hpp"
#include "dashlab/emulator/recipes.hpp"

namespace dashlab {

/// A row of dK and dV, as accumulators and as the recipe writes them.
struct KvRow {
  std::vector<float> dk, dv;
};

/// Probes one problem under one recipe. Tiles are the problem's (for fa2-torch give it fa2's own). Inputs
/// must outlive it.
class Probe {
 public:
  virtual ~Probe() = default;

  /// What tile `kv` adds to row `q` of dQ: head_dim values in f32.
  [[nodiscard]] virtual std::vector<float> dq_partial(std::uint32_t head, std::int64_t q,
                                                      std::uint32_t kv) const = 0;

  /// Goes on with row `key` of dK and dV through the q tile `q_tile` of `head`.
  virtual void kv_step(KvRow& row, std::uint32_t head, std::int64_t key, std::uint32_t q_tile) const = 0;

  /// Accumulators as bits of the output type.
  [[nodiscard]] virtual std::vector<std::uint32_t> rounded(const std::vector<float>& accumulator,
                                                           bool scaled) const = 0;

  /// Sums partials of kv tiles in the given order and rounds: the bits of the dQ row. fa2-torch: in its
  /// buffers.
  [[nodiscard]] std::vector<std::uint32_t> dq_row(const std::vector<std::vector<float>>& partials,
                                                  const std::vector<std::uint32_t>& kv_tiles) const;

 protected:
  /// As BackwardRecipe::dq_buffers().
  std::uint32_t dq_buffers_ = 0;
};

std::unique_ptr<Probe> make_probe(const RecipeRun& run, const Problem& problem, const TileMap& tiles,
                                  const AttentionInputs& inputs);

/// The schedule that a run follows: `schedule`, or fa2-torch's own.
Schedule schedule_of(const RecipeRun& run, const Problem& problem, const TileMap& tiles,
                     const Schedule& schedule);

}  // namespace dashlab
