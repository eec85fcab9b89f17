#include "dashlab/emulator/audit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dashlab/core/error.hpp"

namespace dashlab {

namespace {

/// Which tile an element lies in: q tile for dq, o and lse, kv tile for dk and dv.
std::string tile_name(const std::string& tensor, const std::vector<std::int64_t>& index, const Shape& shape,
                      std::int64_t tile_rows) {
  const bool lse = tensor == "lse";
  const std::int64_t sequence = index[lse ? 2 : 1];
  const std::int64_t head = index[0] * shape[lse ? 1 : 2] + index[lse ? 1 : 2];
  const char* kind = tensor == "dk" || tensor == "dv" ? "kv" : "q";
  return fmt::format("{} tile {} of head {}", kind, sequence / tile_rows, head);
}

void expect_like(const SafetensorsFile& file, const char* name, const TensorView& tensor,
                 const TensorView& like) {
  if (tensor.shape != like.shape || tensor.dtype != like.dtype)
    throw BadInput(fmt::format("{}: tensor '{}' is {} {} where {} {} belongs; save the tensors of one run",
                               file.path(), name, to_string(tensor.dtype), to_string(tensor.shape),
                               to_string(like.dtype), to_string(like.shape)));
}

}  // namespace

Recording read_recording(const SafetensorsFile& file) {
  const auto pass = file.metadata("pass");
  if (pass && *pass != "forward" && *pass != "backward")
    throw BadInput(fmt::format("{}: metadata 'pass' is '{}'; use forward or backward", file.path(), *pass));
  Recording recording;
  AttentionInputs& in = recording.inputs;
  const bool any_gradient = file.has("dq") || file.has("dk") || file.has("dv") || file.has("do");
  recording.pass = pass ? (*pass == "forward" ? Pass::forward : Pass::backward)
                        : (any_gradient ? Pass::backward : Pass::forward);
  in.q = file.tensor("q");
  in.k = file.tensor("k");
  in.v = file.tensor("v");
  in.o = file.tensor("o");
  in.lse = file.tensor("lse");
  if (recording.pass == Pass::backward) {
    in.dout = file.tensor("do");
    recording.dq = file.tensor("dq");
    recording.dk = file.tensor("dk");
    recording.dv = file.tensor("dv");
    expect_like(file, "dq", recording.dq, in.q);
    expect_like(file, "dk", recording.dk, in.k);
    expect_like(file, "dv", recording.dv, in.v);
  }
  try {
    const Problem problem = problem_of(in);
    check(problem);
    check(problem, in, recording.pass);
    expect_like(file, "o", in.o, in.q);
    if (in.lse.dtype != DType::f32 || in.lse.shape != Shape{problem.batch, problem.heads, problem.seqlen_q})
      throw BadInput(fmt::format("tensor 'lse' is {} {}; it must be F32 [batch, head, seq]",
                                 to_string(in.lse.dtype), to_string(in.lse.shape)));
  } catch (const BadInput& error) {
    const std::string message = error.what();
    throw BadInput(message.starts_with(file.path()) ? message : file.path() + ": " + message);
  }
  return recording;
}

bool AuditResult::equal() const {
  return std::all_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.comparison.differ == 0; });
}

Finding judge(const std::string& name, const TensorView& recorded, const TensorView& computed,
              std::int64_t tile_rows) {
  Finding finding{name, compare(name, recorded, computed), std::nullopt};
  const std::int64_t at = finding.comparison.first;
  if (at >= 0) {
    FirstDifference first;
    first.index = unravel(recorded.shape, at);
    first.tile = tile_name(name, first.index, recorded.shape, tile_rows);
    first.recorded_bits = recorded.bits(at);
    first.computed_bits = computed.bits(at);
    first.recorded = describe(recorded, at);
    first.computed = describe(computed, at);
    finding.first = std::move(first);
  }
  return finding;
}

AuditResult audit(const Recording& recording, const AuditSetup& setup, const RunControl& control) {
  AuditResult result;
  TileShape tiles{setup.problem.tile_q, setup.problem.tile_kv};
  if (setup.run.recipe == "fa2-torch") tiles = recipe_tiles("fa2-torch", Pass::backward, setup.problem);
  if (recording.pass == Pass::backward) {
    const TileMap map(setup.problem);
    const Gradients g =
        run_recipe_backward(setup.run, setup.problem, map, setup.schedule, recording.inputs, control);
    result.findings.push_back(judge("dq", recording.dq, g.dq.view(), tiles.q));
    result.findings.push_back(judge("dk", recording.dk, g.dk.view(), tiles.kv));
    result.findings.push_back(judge("dv", recording.dv, g.dv.view(), tiles.kv));
  }
  if (recording.pass == Pass::forward || setup.judge_forward) {
    Problem problem = setup.problem;
    const TileShape shape =
        setup.forward_tiles ? *setup.forward_tiles : recipe_tiles(setup.run.recipe, Pass::forward, problem);
    problem.tile_q = shape.q;
    problem.tile_kv = shape.kv;
    const ForwardResult f = run_recipe_forward(setup.run, problem, recording.inputs, control);
    result.findings.push_back(judge("o", recording.inputs.o, f.o.view(), shape.q));
    result.findings.push_back(judge("lse", recording.inputs.lse, f.lse.view(), shape.q));
  }
  return result;
}

}  // namespace dashlab
