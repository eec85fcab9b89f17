// The validation that docs/validation.md logs; needs a Hopper GPU. One mode per claim:
//   random N SEED        N random problems: GPU against emulator, forward and backward, perturbed, on dirty
//   memory record LIST OUT      digests of the cases in LIST, GPU checked against the emulator repeat N three
//   large problems N times: one result, perturbed, on dirty memory deadlock             a schedule with a
//   deadlock, forced past the verifier, ends by watchdog one                  the small problems that
//   compute-sanitizer looks at
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>

#include "cases.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/core/verify.hpp"
#include "dashlab/core/whole_file.hpp"
#include "dashlab/emulator/compare.hpp"
#include "dashlab/gpu/device.hpp"
#include "dashlab/gpu/session.hpp"
#include "random_problem.hpp"

using namespace dashlab;
using namespace dashlab::test;

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::int64_t report(const std::string& what, const TensorView& cpu, const TensorView& gpu) {
  const Comparison c = compare(what, cpu, gpu);
  if (c.differ > 0)
    std::printf("  %s: %lld of %lld differ, first %lld: cpu %s, gpu %s\n", what.c_str(),
                static_cast<long long>(c.differ), static_cast<long long>(c.elements),
                static_cast<long long>(c.first), dashlab::describe(cpu, c.first).c_str(),
                dashlab::describe(gpu, c.first).c_str());
  return c.differ;
}

struct Outcome {
  std::int64_t forward_differ = 0, backward_differ = 0, elements = 0;
  Gradients gradients;
  ForwardResult forward;
};

/// One problem on both machines. Backward runs three times, each with another perturbation where `perturb`.
Outcome cross_check(const Problem& problem, const Schedule& schedule, DType dtype, std::uint32_t sms,
                    std::uint64_t seed, bool perturb, bool dirty = true) {
  const RunControl control;
  const float scale = default_scale(problem.head_dim);
  const SeededInputs seeded = make_inputs(problem, dtype, seed, control);
  AttentionInputs inputs = seeded.view();
  const RecipeRun recipe{"dashlab", scale, sms};
  const Problem forward = forward_problem(problem);
  Outcome out;
  out.forward = run_recipe_forward(recipe, forward, inputs, control);
  const ForwardResult gpu_forward = gpu::forward_on_gpu(forward, inputs, scale);
  out.forward_differ += report("o", out.forward.o.view(), gpu_forward.o.view());
  out.forward_differ += report("lse", out.forward.lse.view(), gpu_forward.lse.view());
  inputs.o = out.forward.o.view();
  inputs.lse = out.forward.lse.view();
  const TileMap tiles(problem);
  out.gradients = run_recipe_backward(recipe, problem, tiles, schedule, inputs, control);
  for (std::uint64_t i = 0; i < (perturb ? 3U : 1U); ++i) {
    gpu::BackwardOptions options;
    options.profile = gpu::profile_of(dtype);
    options.scale = scale;
    options.perturb_seed = perturb ? seed * 3 + i + 1 : 0;
    gpu::BackwardSession session(problem, tiles, schedule, inputs, options);
    session.run(dirty);
    const Gradients got = session.results();
    out.backward_differ += report("dq", out.gradients.dq.view(), got.dq.view());
    out.backward_differ += report("dk", out.gradients.dk.view(), got.dk.view());
    out.backward_differ += report("dv", out.gradients.dv.view(), got.dv.view());
  }
  out.elements = out.gradients.dq.view().elements() + 2 * out.gradients.dk.view().elements();
  return out;
}

std::string text_of(const Problem& p) {
  const auto n = [](std::int64_t x) { return std::to_string(x); };
  std::string mask = to_string(p.mask);
  if (mask.size() > 40) mask = mask.substr(0, 37) + "...";
  return mask + " b" + n(p.batch) + " h" + n(p.heads) + "/" + n(p.kv_heads) + " q" + n(p.seqlen_q) + " k" +
         n(p.seqlen_k) + " d" + n(p.head_dim) + " tiles " + n(p.tile_q) + "x" + n(p.tile_kv);
}

int run_random(int count, std::uint64_t seed) {
  int bad = 0, skipped = 0;
  std::int64_t elements = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    const std::uint64_t one = seed * 1000000 + static_cast<std::uint64_t>(i);
    const RandomRun run = RandomRuns(one).next();
    const std::string text = "seed " + std::to_string(one) + " " + std::string(profile_name(run.dtype)) +
                             " " + text_of(run.problem) + " " + run.schedule.name +
                             (run.schedule.group_mode == GroupMode::gathered ? " gathered" : "") + " sms " +
                             std::to_string(run.schedule.sms);
    try {
      const Outcome out = cross_check(run.problem, run.schedule, run.dtype, run.schedule.sms, one, true);
      elements += out.elements;
      const bool ok = out.forward_differ == 0 && out.backward_differ == 0;
      bad += ok ? 0 : 1;
      std::printf("%s %s\n", ok ? "equal  " : "DIFFERS", text.c_str());
    } catch (const BadInput& error) {
      ++skipped;
      std::printf("skipped %s: %s\n", text.c_str(), error.what());
    } catch (const std::exception& error) {
      ++bad;
      std::printf("FAILED  %s: %s\n", text.c_str(), error.what());
    }
    std::fflush(stdout);
  }
  std::printf(
      "random: %d problems, %d wrong, %d skipped, %lld gradient elements compared three times, %.1f s\n",
      count, bad, skipped, static_cast<long long>(elements), seconds_since(start));
  return bad == 0 ? 0 : 1;
}

int record(const std::string& list, const std::string& out_path, const std::string& command) {
  const auto device = gpu::require_device();
  nlohmann::ordered_json json{{"format", "dashlab.digests/1"},
                              {"device", device.name},
                              {"driver", "CUDA " + std::to_string(device.driver_version / 1000) + "." +
                                             std::to_string(device.driver_version % 1000 / 10)}};
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  json["date"] = date;
  json["command"] = command;
  int bad = 0, count = 0;
  for (DigestCase c : read_cases(list)) {
    try {
      const Problem problem = make_problem(c.fields);
      const Schedule schedule = make_schedule(c.schedule, problem, TileMap(problem), {c.sms, c.group_mode()});
      const Outcome out = cross_check(problem, schedule, profile_dtype(c.profile), c.sms, c.seed, false);
      const bool ok = out.forward_differ == 0 && out.backward_differ == 0;
      if (!ok) std::printf("DIFFERS %s\n", test::describe(c).c_str());
      bad += ok ? 0 : 1;
      c.sha256 = digests(out.gradients, out.forward);
      if (ok) json["cases"].push_back(to_json(c));
      ++count;
    } catch (const std::exception& error) {
      ++bad;
      std::printf("FAILED %s: %s\n", test::describe(c).c_str(), error.what());
    }
    std::fflush(stdout);
  }
  write_file(out_path, json.dump(1) + "\n");
  std::printf("record: %d cases, %d wrong\n", count, bad);
  return bad == 0 ? 0 : 1;
}

struct Large {
  const char *mask, *schedule;
  std::int64_t head_dim, heads, seqlen, tile_q;
};

int repeat(int times) {
  int bad = 0;
  for (const Large& l :
       {Large{"full", "shift", 128, 8, 4096, 80}, Large{"causal", "symmetric-shift", 128, 8, 4096, 64},
        Large{"causal", "spt", 64, 16, 4096, 128}}) {
    Problem p;
    p.mask = parse_mask(l.mask);
    p.heads = p.kv_heads = l.heads;
    p.head_dim = l.head_dim;
    p.seqlen_q = p.seqlen_k = l.seqlen;
    p.tile_q = l.tile_q;
    const TileMap tiles(p);
    const Schedule schedule = make_schedule(l.schedule, p, tiles, {132, GroupMode::per_head});
    const SeededInputs seeded = make_inputs(p, DType::bf16, 7, {});
    AttentionInputs inputs = seeded.view();
    const float scale = default_scale(p.head_dim);
    const ForwardResult forward = gpu::forward_on_gpu(forward_problem(p), inputs, scale);
    inputs.o = forward.o.view();
    inputs.lse = forward.lse.view();
    std::uint64_t differ = 0;
    std::string digest;
    const auto start = std::chrono::steady_clock::now();
    // Perturbation is chosen when a pass is planned: ten passes, each with its own seed, share the runs.
    gpu::BackwardOptions plain;
    plain.scale = scale;
    gpu::BackwardSession first(p, tiles, schedule, inputs, plain);
    first.run(true);
    const std::string expected = sha256(first.results().dq.view().bytes());
    for (int block = 0; block < 10; ++block) {
      gpu::BackwardOptions options = plain;
      options.perturb_seed = static_cast<std::uint64_t>(block) + 1;
      gpu::BackwardSession session(p, tiles, schedule, inputs, options);
      session.run(true);
      if (sha256(session.results().dq.view().bytes()) != expected) ++differ;
      session.remember();
      for (int i = 1; i < times / 10; ++i) {
        session.run(true);
        differ += session.differing_words();
      }
    }
    bad += differ == 0 ? 0 : 1;
    std::printf("repeat: %s %s d%lld h%lld s%lld: %d runs, %llu words differ, dq %s, %.1f s\n", l.mask,
                l.schedule, static_cast<long long>(l.head_dim), static_cast<long long>(l.heads),
                static_cast<long long>(l.seqlen), times / 10 * 10, static_cast<unsigned long long>(differ),
                expected.c_str(), seconds_since(start));
    std::fflush(stdout);
  }
  return bad == 0 ? 0 : 1;
}

/// Two SMs that each wait for the other: SM 0 runs kv tile 0 and then 1 of head 0, but row 0 wants tile 1
/// first.
int deadlock() {
  Problem p;
  p.head_dim = 64;
  p.seqlen_q = p.seqlen_k = 256;
  const TileMap tiles(p);
  Schedule schedule = make_schedule("ascending", p, tiles, {1, GroupMode::per_head});
  schedule.placement = Placement::static_lists;
  schedule.sms = 1;
  schedule.sm_begin = {0, schedule.chains.size()};
  std::swap(schedule.reduce_kv[0], schedule.reduce_kv[1]);
  const Verification proof = verify(p, tiles, schedule);
  std::printf("verifier: %s\n", proof.valid ? "valid (wrong!)" : proof.errors.front().message.c_str());
  const SeededInputs seeded = make_inputs(p, DType::bf16, 1, {});
  AttentionInputs inputs = seeded.view();
  const ForwardResult forward = gpu::forward_on_gpu(forward_problem(p), inputs, default_scale(64));
  inputs.o = forward.o.view();
  inputs.lse = forward.lse.view();
  gpu::BackwardOptions options;
  options.scale = default_scale(64);
  int bad = 0;
  try {
    gpu::BackwardSession refused(p, tiles, schedule, inputs, options);
    std::printf("launched without force (wrong!)\n");
    ++bad;
  } catch (const BadInput& error) {
    std::printf("refused: %s\n", error.what());
  }
  options.launch_unverified = true;
  const auto start = std::chrono::steady_clock::now();
  try {
    gpu::BackwardSession session(p, tiles, schedule, inputs, options);
    session.run(true);
    std::printf("no watchdog (wrong!)\n");
    ++bad;
  } catch (const gpu::Stuck& stuck) {
    std::printf("%s; after %.2f s\n", stuck.what(), seconds_since(start));
    if (seconds_since(start) > 5 || stuck.ticket().q_tile != 0 || stuck.ticket().kv_tile != 0 ||
        stuck.ticket().expected != 1)
      ++bad;
  }
  Schedule good = make_schedule("ascending", p, tiles, {1, GroupMode::per_head});
  options.launch_unverified = false;
  gpu::BackwardSession after(p, tiles, good, inputs, options);
  after.run(true);
  const Gradients cpu = run_recipe_backward({"dashlab", options.scale, 1}, p, tiles, good, inputs, {});
  if (report("dq", cpu.dq.view(), after.results().dq.view()) != 0) ++bad;
  std::printf("deadlock: %s; the next run is right\n", bad == 0 ? "ends as promised" : "WRONG");
  return bad == 0 ? 0 : 1;
}

int one(bool dirty) {
  int bad = 0;
  const auto check_one = [&](DType dtype, std::int64_t dim, std::int64_t tile_q, std::int64_t tile_kv,
                             const char* mask, const char* schedule, std::int64_t q, std::int64_t k,
                             std::int64_t heads, std::int64_t kv_heads) {
    Problem p;
    p.head_dim = dim;
    p.tile_q = tile_q;
    p.tile_kv = tile_kv;
    p.mask = parse_mask(mask);
    p.seqlen_q = q;
    p.seqlen_k = k;
    p.heads = heads;
    p.kv_heads = kv_heads;
    const TileMap tiles(p);
    const Outcome out = cross_check(p, make_schedule(schedule, p, tiles, {4, GroupMode::per_head}), dtype, 4,
                                    3, false, dirty);
    bad += out.forward_differ + out.backward_differ == 0 ? 0 : 1;
    std::printf("one: %s %s %s\n", text_of(p).c_str(), schedule,
                out.forward_differ + out.backward_differ == 0 ? "equal" : "DIFFERS");
    std::fflush(stdout);
  };
  check_one(DType::bf16, 64, 128, 128, "causal", "spt", 300, 300, 1, 1);
  check_one(DType::bf16, 128, 64, 128, "causal", "symmetric-shift", 256, 256, 2, 1);
  check_one(DType::f16, 128, 80, 128, "full", "shift", 200, 300, 1, 1);
  check_one(DType::bf16, 64, 128, 128, "full", "two-pass", 130, 260, 1, 1);
  check_one(DType::f32, 32, 32, 48, "window:20,9", "descending", 100, 90, 2, 1);
  return bad == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  std::string command = "validate";
  for (const std::string& a : args) command += " " + a.substr(a.find_last_of('/') + 1);
  try {
    if (args.size() == 3 && args[0] == "random")
      return run_random(std::atoi(args[1].c_str()), std::strtoull(args[2].c_str(), nullptr, 10));
    if (args.size() == 3 && args[0] == "record") return record(args[1], args[2], command);
    if (args.size() == 2 && args[0] == "repeat") return repeat(std::atoi(args[1].c_str()));
    if (args.size() == 1 && args[0] == "deadlock") return deadlock();
    if (!args.empty() && args[0] == "one") return one(args.size() == 2 && args[1] == "dirty");
    std::printf("usage: validate random N SEED | record LIST OUT | repeat N | deadlock | one [dirty]\n");
    return 2;
  } catch (const EnvironmentError& error) {
    std::printf("%s\n", error.what());
    return 3;
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 2;
  }
}
