// Is a recorded gradient what that kernel must give? Recomputes it and compares every bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dashlab/core/schedule.hpp"
#include "dashlab/emulator/compare.hpp"
#include "dashlab/emulator/recipes.hpp"
#include "dashlab/emulator/safetensors.hpp"

namespace dashlab {

/// The tensors of a recorded run; views into the file. Gradients are empty in a forward recording.
struct Recording {
  AttentionInputs inputs;
  TensorView dq, dk, dv;
  Pass pass = Pass::backward;
};

/// Reads q k v do o lse dq dk dv, or q k v o lse for a forward recording (metadata `pass`, or no gradients in
/// the file). Throws BadInput when tensors are missing or their shapes do not fit each other.
Recording read_recording(const SafetensorsFile& file);

/// What the recording is held against.
struct AuditSetup {
  RecipeRun run;
  Problem problem;                         ///< with the backward tile sizes
  std::optional<TileShape> forward_tiles;  ///< fa3's own where not set
  Schedule schedule;                       ///< not used by fa2-torch and forward recordings
  bool judge_forward = false;              ///< o and lse of a backward recording too
};

/// Where a tensor first differs.
struct FirstDifference {
  std::vector<std::int64_t> index;  ///< one per dimension
  std::string tile;                 ///< "q tile 3 of head 0": the row or column of tiles it belongs to
  std::uint32_t recorded_bits = 0;
  std::uint32_t computed_bits = 0;
  std::string recorded;  ///< bits and value, for people
  std::string computed;
};

/// The verdict on one tensor.
struct Finding {
  std::string name;
  Comparison comparison;
  std::optional<FirstDifference> first;
};

/// What audit() found, one entry per tensor.
struct AuditResult {
  std::vector<Finding> findings;  ///< dq, dk, dv and o, lse, as far as the recipe was asked to decide them
  /// No element of any tensor differs.
  [[nodiscard]] bool equal() const;
};

AuditResult audit(const Recording& recording, const AuditSetup& setup, const RunControl& control);

/// One tensor against its recomputation. `tile_rows` is the tile size along the sequence.
Finding judge(const std::string& name, const TensorView& recorded, const TensorView& computed,
              std::int64_t tile_rows);

}  // namespace dashlab
