// Plans and launches: the checks, the workspace, the order of kernels. The kernels are in hopper_backward.cuh
// and simt_backward.cu.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "check.hpp"
#include "dashlab/core/verify.hpp"
#include "dashlab/gpu/backward.hpp"
#include "dashlab/gpu/device.hpp"
#include "hopper_launch.hpp"
#include "lowering.hpp"
#include "measured_timeline.hpp"
#include "row_kernels.hpp"
#include "simt_backward.hpp"
#include "workspace.hpp"

namespace dashlab::gpu {

namespace {

/// Matrix products of the pass count 10 * head_dim operations per visible pair; an upper bound is enough
/// here.
double watchdog_for(const Problem& p, double wanted) {
  if (wanted > 0) return wanted;
  const double pairs = static_cast<double>(p.total_heads()) * static_cast<double>(p.seqlen_q) *
                       static_cast<double>(p.seqlen_k);
  return 2.0 + 14.0 * pairs * static_cast<double>(p.head_dim) / 1e12;
}

void check_sizes(const Problem& problem, Profile profile) {
  if (problem.in_tiles)
    throw BadInput("the problem is given in tiles; a run needs tokens: use --seqlen, --tile-q and --tile-kv");
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() - 256;
  if (problem.seqlen_q > most || problem.seqlen_k > most)
    throw BadInput("seqlen: the GPU kernels take sequences below 2^31 tokens");
  if (problem.total_heads() * std::max(problem.q_tiles(), problem.kv_tiles()) > most)
    throw BadInput("heads times tiles of the problem exceed 2^31; use larger tiles");
  if (profile == Profile::ieee_fp32) {
    if (problem.tile_q > 1024 || problem.tile_kv > 1024)
      throw BadInput("tiles above 1024 rows have no kernel; use --tile-q and --tile-kv up to 1024");
    return;
  }
  if (!hopper_kernel_exists(problem.head_dim, problem.tile_q, problem.tile_kv))
    throw BadInput("no " + std::string(to_string(profile)) + " kernel for head_dim " +
                   std::to_string(problem.head_dim) + " with tiles " + std::to_string(problem.tile_q) + "x" +
                   std::to_string(problem.tile_kv) +
                   "; there are head_dim 64 with --tile-q 128 --tile-kv 128, and head_dim 128 with --tile-q "
                   "64 or 80 --tile-kv 128");
}

void check_device(const DeviceInfo& device, const Problem& problem, Profile profile) {
  if (profile == Profile::ieee_fp32) {
    if (device.major < 7)
      throw EnvironmentError("the GPU (" + device.name +
                             ") is older than sm_70, the least that ieee-fp32 runs on");
    return;
  }
  if (device.major != 9 || device.minor != 0)
    throw EnvironmentError("the GPU (" + device.name + ") is sm_" + std::to_string(device.major) +
                           std::to_string(device.minor) + "; profile " + std::string(to_string(profile)) +
                           " needs sm_90 (H100, H200): use --profile ieee-fp32");
  const std::size_t wanted = hopper_shared_bytes(problem.head_dim, problem.tile_q);
  if (device.shared_bytes < wanted)
    throw EnvironmentError("a CTA needs " + std::to_string(wanted) +
                           " bytes of shared memory, the GPU gives at most " +
                           std::to_string(device.shared_bytes));
}

}  // namespace

struct Backward::State {
  Problem problem;
  Schedule schedule;
  BackwardOptions options;
  LoweredSchedule lowered;
  WorkspaceLayout layout;
  WorkspaceSizes sizes;
  unsigned ctas = 1;
  float scale_log2 = 1.0F;
  std::byte* workspace = nullptr;

  template <class T>
  [[nodiscard]] T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(workspace + offset);
  }

  [[nodiscard]] ScheduleView view() const {
    ScheduleView v;
    v.chains = at<DeviceChain>(layout.chains);
    v.steps = at<DeviceStep>(layout.steps);
    v.cta_begin = lowered.cta_begin.empty() ? nullptr : at<std::uint32_t>(layout.cta_begin);
    v.chain_count = static_cast<std::uint32_t>(lowered.chains.size());
    v.queue = at<std::uint32_t>(layout.queues);
    v.tickets = schedule.dq_mode == DqMode::second_pass ? nullptr : at<std::uint32_t>(layout.tickets);
    v.group_tickets = at<std::uint32_t>(layout.group_tickets);
    v.ordered = schedule.dq_mode == DqMode::ordered;
    v.report = at<StuckReport>(layout.report);
    v.watchdog_ns = static_cast<std::uint64_t>(watchdog_for(problem, options.watchdog_seconds) * 1e9);
    v.perturb_seed = options.perturb_seed;
    if (options.trace) {
      v.trace = at<TaskTrace>(layout.trace);
      v.clocks = at<CtaClock>(layout.clocks);
    }
    return v;
  }

  [[nodiscard]] ScheduleView second_view() const {
    ScheduleView v = view();
    v.chains = at<DeviceChain>(layout.second_chains);
    v.steps = at<DeviceStep>(layout.second_steps);
    v.chain_count = static_cast<std::uint32_t>(lowered.second_chains.size());
    v.cta_begin = nullptr;
    v.queue = at<std::uint32_t>(layout.queues) + 1;
    v.trace = nullptr;
    v.clocks = nullptr;
    return v;
  }

  void run_hopper(const BackwardTensors& t, cudaStream_t stream) const;
  void run_simt(const BackwardTensors& t, cudaStream_t stream) const;
};

Backward::Backward(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                   const BackwardOptions& options)
    : state_(std::make_unique<State>()) {
  check(problem);
  check_sizes(problem, options.profile);
  if (!(options.scale > 0) || !std::isfinite(options.scale))
    throw BadInput("scale must be a positive number");
  const DeviceInfo device = require_device();
  check_device(device, problem, options.profile);
  State& s = *state_;
  s.problem = problem;
  s.schedule = schedule;
  s.options = options;
  s.scale_log2 = static_cast<float>(static_cast<double>(options.scale) * std::numbers::log2e);

  int resident = device.sms;
  if (options.profile == Profile::ieee_fp32) check_cuda(simt_resident(&resident), "asking for occupancy");
  const bool is_static = schedule.placement == Placement::static_lists;
  if (is_static && schedule.sms > static_cast<unsigned>(resident))
    throw EnvironmentError("schedule '" + schedule.name + "' places chains on " +
                           std::to_string(schedule.sms) + " SMs; this GPU keeps " + std::to_string(resident) +
                           " CTAs resident: use --sms " + std::to_string(resident) + " or fewer");
  s.ctas = std::max(1U, is_static ? schedule.sms : std::min(schedule.sms, static_cast<unsigned>(resident)));
  if (!options.launch_unverified) {
    const Verification proof = verify(problem, tiles, schedule, s.ctas);
    if (!proof.valid)
      throw BadInput("schedule '" + schedule.name +
                     "': " + (proof.errors.empty() ? "not valid" : proof.errors.front().message));
  }
  s.lowered = lower(problem, tiles, schedule);
  if (!is_static)
    s.ctas = std::min(s.ctas, static_cast<unsigned>(std::max<std::size_t>(1, s.lowered.chains.size())));

  const auto total_heads = static_cast<std::size_t>(problem.total_heads());
  const bool simt = options.profile == Profile::ieee_fp32;
  const auto q_rows = static_cast<std::size_t>(simt ? problem.seqlen_q : problem.q_tiles() * problem.tile_q);
  s.sizes.rows = total_heads * static_cast<std::size_t>(problem.q_tiles());
  s.sizes.row_floats = total_heads * q_rows;
  s.sizes.dq_floats = s.sizes.row_floats * static_cast<std::size_t>(problem.head_dim);
  s.sizes.group_slots =
      s.lowered.grouped ? static_cast<std::size_t>(problem.batch * problem.kv_heads * problem.kv_tiles()) : 0;
  s.sizes.group_floats = static_cast<std::size_t>(2 * problem.tile_kv * problem.head_dim);
  s.sizes.scratch_floats =
      simt ? s.ctas * simt_scratch_floats(problem.tile_q, problem.tile_kv, problem.head_dim) : 0;
  s.sizes.ctas = s.ctas;
  s.sizes.trace = options.trace;
  s.layout = lay_out(s.lowered, s.sizes);
}

Backward::Backward(Backward&&) noexcept = default;
Backward& Backward::operator=(Backward&&) noexcept = default;
Backward::~Backward() = default;

std::size_t Backward::workspace_bytes() const noexcept {
  return state_->layout.end;
}

void Backward::prepare(void* workspace, void* stream) {
  State& s = *state_;
  s.workspace = static_cast<std::byte*>(workspace);
  const auto upload = [&](std::size_t offset, const auto& vector) {
    if (vector.empty()) return;
    check_cuda(cudaMemcpyAsync(s.workspace + offset, vector.data(), vector.size() * sizeof(vector[0]),
                               cudaMemcpyHostToDevice, as_stream(stream)),
               "uploading the schedule");
  };
  upload(s.layout.chains, s.lowered.chains);
  upload(s.layout.steps, s.lowered.steps);
  upload(s.layout.cta_begin, s.lowered.cta_begin);
  upload(s.layout.second_chains, s.lowered.second_chains);
  upload(s.layout.second_steps, s.lowered.second_steps);
  upload(s.layout.row_addends, s.lowered.row_addends);
  upload(s.layout.key_ranges, s.lowered.key_ranges);
  check_cuda(cudaStreamSynchronize(as_stream(stream)), "uploading the schedule");
}

void Backward::poison(void* stream) {
  const State& s = *state_;
  check_cuda(cudaMemsetAsync(s.workspace + s.layout.cleared_begin, 0xff,
                             s.layout.end - s.layout.cleared_begin, as_stream(stream)),
             "poisoning the workspace");
}

void Backward::run(const BackwardTensors& tensors, void* stream_pointer) {
  const State& s = *state_;
  if (s.workspace == nullptr) throw BadInput("Backward::run before prepare()");
  const cudaStream_t stream = as_stream(stream_pointer);
  check_cuda(cudaMemsetAsync(s.workspace + s.layout.cleared_begin, 0,
                             s.layout.cleared_end - s.layout.cleared_begin, stream),
             "clearing the tickets");
  if (s.schedule.dq_mode == DqMode::arrival)
    check_cuda(cudaMemsetAsync(s.workspace + s.layout.dq_accumulator, 0, s.sizes.dq_floats * 4, stream),
               "clearing dQ");
  if (s.options.trace)
    check_cuda(cudaMemsetAsync(s.workspace + s.layout.trace, 0, s.layout.end - s.layout.trace, stream),
               "clearing the trace");
  if (s.options.profile == Profile::ieee_fp32)
    s.run_simt(tensors, stream);
  else
    s.run_hopper(tensors, stream);
}

void Backward::State::run_hopper(const BackwardTensors& t, cudaStream_t stream) const {
  const bool bf16 = options.profile == Profile::hopper_bf16;
  const auto heads = static_cast<std::uint32_t>(problem.heads);
  const auto total_heads = static_cast<std::uint32_t>(problem.total_heads());
  const auto q_tiles = static_cast<std::uint32_t>(problem.q_tiles());
  const int head_dim = static_cast<int>(problem.head_dim);

  PreprocessParams before;
  before.dout = static_cast<const std::uint16_t*>(t.dout);
  before.o = static_cast<const std::uint16_t*>(t.o);
  before.lse = t.lse;
  before.lse2 = at<float>(layout.lse2);
  before.dpsum = at<float>(layout.dpsum);
  before.total_heads = total_heads;
  before.heads = heads;
  before.q_tiles = q_tiles;
  before.tile_q = static_cast<std::uint32_t>(problem.tile_q);
  before.seqlen_q = problem.seqlen_q;
  before.head_dim = head_dim;
  before.bf16 = bf16;
  check_cuda(launch_preprocess(before, stream), "launching the preprocess kernel");

  const auto map = [&](const void* data, std::int64_t seqlen, std::int64_t map_heads, std::int64_t rows) {
    return make_tensor_map(data, problem.batch, seqlen, map_heads, problem.head_dim, static_cast<int>(rows),
                           bf16);
  };
  HopperParams main;
  main.q = map(t.q, problem.seqlen_q, problem.heads, problem.tile_q);
  main.dout = map(t.dout, problem.seqlen_q, problem.heads, problem.tile_q);
  main.k = map(t.k, problem.seqlen_k, problem.kv_heads, problem.tile_kv);
  main.v = map(t.v, problem.seqlen_k, problem.kv_heads, problem.tile_kv);
  main.schedule = view();
  main.lse2 = before.lse2;
  main.dpsum = before.dpsum;
  main.key_ranges = at<DeviceKeyRange>(layout.key_ranges);
  main.dq_accumulator = at<float>(layout.dq_accumulator);
  main.group_accumulator = at<float>(layout.group_accumulator);
  main.dk = static_cast<std::uint16_t*>(t.dk);
  main.dv = static_cast<std::uint16_t*>(t.dv);
  main.heads = heads;
  main.kv_heads = static_cast<std::uint32_t>(problem.kv_heads);
  main.kv_tiles = static_cast<std::uint32_t>(problem.kv_tiles());
  main.seqlen_k = static_cast<std::int32_t>(problem.seqlen_k);
  main.scale = options.scale;
  main.scale_log2 = scale_log2;
  const HopperLaunch launch{problem.head_dim, problem.tile_q, bf16, ctas, stream};
  if (schedule.dq_mode == DqMode::second_pass) {
    check_cuda(launch_hopper_first_pass(main, launch), "launching the dK and dV kernel");
    main.schedule = second_view();
    check_cuda(launch_hopper_second_pass(main, launch), "launching the dQ kernel");
  } else {
    check_cuda(launch_hopper_backward(main, launch), "launching the backward kernel");
  }

  PostprocessParams after;
  after.accumulator = main.dq_accumulator;
  after.row_addends = at<std::uint32_t>(layout.row_addends);
  after.dq = static_cast<std::uint16_t*>(t.dq);
  after.total_heads = total_heads;
  after.heads = heads;
  after.q_tiles = q_tiles;
  after.tile_q = static_cast<int>(problem.tile_q);
  after.head_dim = head_dim;
  after.seqlen_q = problem.seqlen_q;
  after.scale = options.scale;
  after.bf16 = bf16;
  check_cuda(launch_postprocess(after, stream), "launching the postprocess kernel");
}

void Backward::State::run_simt(const BackwardTensors& t, cudaStream_t stream) const {
  SimtParams p;
  p.schedule = view();
  p.q = static_cast<const float*>(t.q);
  p.k = static_cast<const float*>(t.k);
  p.v = static_cast<const float*>(t.v);
  p.o = static_cast<const float*>(t.o);
  p.dout = static_cast<const float*>(t.dout);
  p.lse = t.lse;
  p.dq = static_cast<float*>(t.dq);
  p.dk = static_cast<float*>(t.dk);
  p.dv = static_cast<float*>(t.dv);
  p.lse2 = at<float>(layout.lse2);
  p.dpsum = at<float>(layout.dpsum);
  p.dq_accumulator = at<float>(layout.dq_accumulator);
  p.group_accumulator = at<float>(layout.group_accumulator);
  p.scratch = at<float>(layout.scratch);
  p.key_ranges = at<DeviceKeyRange>(layout.key_ranges);
  p.row_addends = at<std::uint32_t>(layout.row_addends);
  p.seqlen_q = problem.seqlen_q;
  p.seqlen_k = problem.seqlen_k;
  p.total_heads = static_cast<std::uint32_t>(problem.total_heads());
  p.heads = static_cast<std::uint32_t>(problem.heads);
  p.kv_heads = static_cast<std::uint32_t>(problem.kv_heads);
  p.q_tiles = static_cast<std::uint32_t>(problem.q_tiles());
  p.kv_tiles = static_cast<std::uint32_t>(problem.kv_tiles());
  p.head_dim = static_cast<int>(problem.head_dim);
  p.tile_q = static_cast<int>(problem.tile_q);
  p.tile_kv = static_cast<int>(problem.tile_kv);
  p.scale = options.scale;
  p.scale_log2 = scale_log2;
  check_cuda(launch_simt_rows(p, stream), "launching the row kernel");
  check_cuda(launch_simt_backward(p, ctas, stream), "launching the backward kernel");
  check_cuda(launch_simt_finish(p, stream), "launching the finish kernel");
  if (schedule.dq_mode == DqMode::second_pass) {  // rows without keys keep the zeros of the kernel before
    p.schedule = second_view();
    p.second_pass = true;
    check_cuda(launch_simt_backward(p, ctas, stream), "launching the second pass");
  }
}

void Backward::finish(void* stream) {
  const State& s = *state_;
  StuckReport report;
  check_cuda(cudaMemcpyAsync(&report, s.workspace + s.layout.report, sizeof report, cudaMemcpyDeviceToHost,
                             as_stream(stream)),
             "running the backward pass");
  check_cuda(cudaStreamSynchronize(as_stream(stream)), "running the backward pass");
  if (report.fired != 0)
    throw Stuck({report.cta, report.head, report.q_tile, report.kv_tile, report.expected, report.seen,
                 report.in_group != 0});
}

Timeline Backward::timeline() const {
  const State& s = *state_;
  if (!s.options.trace) throw BadInput("no trace was recorded: set BackwardOptions::trace");
  std::vector<TaskTrace> trace(s.lowered.steps.size());
  std::vector<CtaClock> clocks(s.ctas);
  check_cuda(cudaMemcpy(trace.data(), s.workspace + s.layout.trace, trace.size() * sizeof(TaskTrace),
                        cudaMemcpyDeviceToHost),
             "reading the trace");
  check_cuda(cudaMemcpy(clocks.data(), s.workspace + s.layout.clocks, clocks.size() * sizeof(CtaClock),
                        cudaMemcpyDeviceToHost),
             "reading the trace");
  return measured_timeline(s.schedule, s.lowered, trace, clocks);
}

void run(const Problem& problem, const Schedule& schedule, const BackwardTensors& tensors,
         const BackwardOptions& options, void* stream) {
  const TileMap tiles(problem);
  Backward pass(problem, tiles, schedule, options);
  const DeviceBuffer workspace(pass.workspace_bytes());
  pass.prepare(workspace.data(), stream);
  pass.run(tensors, stream);
  pass.finish(stream);
}

}  // namespace dashlab::gpu
