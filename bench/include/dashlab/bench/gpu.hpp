// `dashlab bench --gpu`: whole backward passes on the GPU.
#pragma once

#include <vector>

#include "dashlab/bench/measure.hpp"

namespace dashlab::bench {

/// The rows of docs/performance.md: bf16, 16,384 tokens in all, heads * head_dim = 2048, head dims 64 and
/// 128, full and causal, seqlen 512 to 16384. TFLOP/s of preprocess, main kernel and postprocess; five
/// products, causal halved. Reference of each: the same kernel adding dQ in arrival order, in the same
/// rounds. All problems in turn, round after round, so that the chip's temperature is the same for all.
/// Throws EnvironmentError without an H100 or H200.
[[nodiscard]] std::vector<Row> gpu_rows(int rounds = 30);

}  // namespace dashlab::bench
