// Executes a schedule tile by tile. Five products a task (seven where dQ has a pass of its own), all operands
// packed once and kept only as long as tasks need them.
#include "dashlab/emulator/backward.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "dashlab/core/error.hpp"
#include "dashlab/core/verify.hpp"
#include "dataflow.hpp"
#include "once.hpp"
#include "operands.hpp"
#include "tile_mask.hpp"

namespace dashlab {

namespace {

/// A q tile of one head: packed operands, row statistics, and the dQ accumulator.
template <typename Element>
struct RowState {
  Once packed;
  std::atomic<std::uint32_t> uses{0};  ///< tasks still to come
  typename Operands<Element>::Left q_left, dout_left;
  typename Operands<Element>::Right q_right, dout_right;
  std::vector<float> lse2, dpsum;
  std::vector<float> dq, dq_buffer;
};

/// A kv tile of one kv head: packed operands.
template <typename Element>
struct ColumnState {
  Once packed;
  std::atomic<std::uint32_t> uses{0};
  typename Operands<Element>::Right k_transposed, v_transposed, k_right;
};

/// What a chain carries from step to step: dK and dV of a kv tile, or dQ of a q tile (second pass).
struct ChainState {
  std::vector<float> dk, dv, dq;
};

/// One kv tile of a grouped kv head: the heads' dK and dV are added in the schedule's order, early ones wait.
struct GroupState {
  std::mutex mutex;
  std::uint32_t next = 0;
  std::vector<std::unique_ptr<ChainState>> waiting;
  std::vector<float> dk, dv;
};

template <typename Element>
struct Workspace {
  std::vector<float> s, dp, dq;
  std::vector<Element> p, ds, out;
  typename Operands<Element>::Left p_left, ds_transposed, ds_left;
};

void add_to(std::vector<float>& accumulator, const std::vector<float>& partial) {
  for (std::size_t i = 0; i < accumulator.size(); ++i) accumulator[i] += partial[i];
}

template <typename Element>
class BackwardRun {
  using Ops = Operands<Element>;

 public:
  BackwardRun(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
              const AttentionInputs& inputs, const BackwardRecipe<Element>& recipe, const RunControl& control)
      : problem_(problem),
        tiles_(tiles),
        schedule_(schedule),
        inputs_(inputs),
        recipe_(recipe),
        control_(control),
        flow_(problem, schedule, control),
        dim_(static_cast<int>(problem.head_dim)),
        q_tiles_(static_cast<std::size_t>(problem.q_tiles())),
        kv_tiles_(static_cast<std::size_t>(problem.kv_tiles())),
        rows_(std::make_unique<RowState<Element>[]>(static_cast<std::size_t>(problem.total_heads()) *
                                                    q_tiles_)),
        columns_(std::make_unique<ColumnState<Element>[]>(
            static_cast<std::size_t>(problem.batch * problem.kv_heads) * kv_tiles_)),
        chains_(schedule.chains.size()) {
    if (schedule.group_mode == GroupMode::per_head && problem.group_size() > 1)
      groups_ = std::make_unique<GroupState[]>(static_cast<std::size_t>(problem.batch * problem.kv_heads) *
                                               kv_tiles_);
    const DType type = recipe.dtype();
    result_.dq = Tensor(type, inputs.q.shape);
    result_.dk = Tensor(type, inputs.k.shape);
    result_.dv = Tensor(type, inputs.v.shape);
    for (std::size_t c = 0; c < schedule.chains.size(); ++c) {
      const Chain& chain = schedule.chains[c];
      for (std::uint64_t step = schedule.chain_begin[c]; step < schedule.chain_begin[c + 1]; ++step) {
        const std::uint32_t head = schedule.head_of_step(c, step);
        const std::uint32_t other = schedule.steps[step];
        row(head, chain.second_pass ? chain.tile : other).uses.fetch_add(1, std::memory_order_relaxed);
        column(head, chain.second_pass ? other : chain.tile).uses.fetch_add(1, std::memory_order_relaxed);
      }
    }
  }

  Gradients run() {
    run_workers(worker_count(control_), [this](int) {
      Workspace<Element> work;
      try {
        std::optional<ReadyTask> task;
        while ((task = flow_.next(task))) execute(*task, work);
      } catch (...) {
        flow_.abandon();
        throw;
      }
    });
    return std::move(result_);
  }

 private:
  RowState<Element>& row(std::uint32_t head, std::uint32_t q) { return rows_[head * q_tiles_ + q]; }
  ColumnState<Element>& column(std::uint32_t head, std::uint32_t kv) {
    return columns_[problem_.kv_head_of(HeadId{head}) * kv_tiles_ + kv];
  }
  [[nodiscard]] int q_rows(std::uint32_t q) const {
    return static_cast<int>(std::min(problem_.tile_q, problem_.seqlen_q - q * problem_.tile_q));
  }
  [[nodiscard]] int kv_rows(std::uint32_t kv) const {
    return static_cast<int>(std::min(problem_.tile_kv, problem_.seqlen_k - kv * problem_.tile_kv));
  }

  /// First element of a tile's rows in a tensor, and the distance between rows.
  [[nodiscard]] HeadRows q_place(std::uint32_t head, std::uint32_t q) const {
    HeadRows place = head_rows(problem_.seqlen_q, problem_.heads, problem_.head_dim, head);
    place.first += static_cast<std::int64_t>(q) * problem_.tile_q * place.stride;
    return place;
  }
  [[nodiscard]] HeadRows kv_place(std::uint32_t kv_head, std::uint32_t kv) const {
    HeadRows place = head_rows(problem_.seqlen_k, problem_.kv_heads, problem_.head_dim, kv_head);
    place.first += static_cast<std::int64_t>(kv) * problem_.tile_kv * place.stride;
    return place;
  }

  void pack_row(RowState<Element>& state, std::uint32_t head, std::uint32_t q) {
    const int rows = q_rows(q);
    const HeadRows place = q_place(head, q);
    const Element* q_data = Ops::data(inputs_.q) + place.first;
    const Element* dout = Ops::data(inputs_.dout) + place.first;
    const Element* o = Ops::data(inputs_.o) + place.first;
    const DType type = recipe_.dtype();
    Ops::pack(state.q_left, Ops::view(q_data, place.stride, rows, dim_), type);
    Ops::pack(state.dout_left, Ops::view(dout, place.stride, rows, dim_), type);
    Ops::pack(state.q_right, Ops::view(q_data, place.stride, rows, dim_), type);
    Ops::pack(state.dout_right, Ops::view(dout, place.stride, rows, dim_), type);
    const float* lse = inputs_.lse.f32() + std::int64_t{head} * problem_.seqlen_q + q * problem_.tile_q;
    const auto dim = static_cast<std::size_t>(dim_);
    state.lse2.resize(static_cast<std::size_t>(rows));
    state.dpsum.resize(static_cast<std::size_t>(rows));
    for (int r = 0; r < rows; ++r) {
      const auto at = static_cast<std::size_t>(r);
      state.lse2[at] = recipe_.lse_base2(lse[r]);
      state.dpsum[at] = recipe_.row_dot({dout + r * place.stride, dim}, {o + r * place.stride, dim});
    }
  }

  void pack_column(ColumnState<Element>& state, std::uint32_t kv_head, std::uint32_t kv) {
    const int rows = kv_rows(kv);
    const HeadRows place = kv_place(kv_head, kv);
    const Element* k = Ops::data(inputs_.k) + place.first;
    const Element* v = Ops::data(inputs_.v) + place.first;
    const DType type = recipe_.dtype();
    Ops::pack(state.k_transposed, Ops::transposed(k, place.stride, rows, dim_), type);
    Ops::pack(state.v_transposed, Ops::transposed(v, place.stride, rows, dim_), type);
    Ops::pack(state.k_right, Ops::view(k, place.stride, rows, dim_), type);
  }

  void execute(const ReadyTask& task, Workspace<Element>& work) {
    RowState<Element>& r = row(task.head, task.q);
    ColumnState<Element>& c = column(task.head, task.kv);
    r.packed.call([&] { pack_row(r, task.head, task.q); });
    c.packed.call([&] { pack_column(c, problem_.kv_head_of(HeadId{task.head}), task.kv); });
    const int m = q_rows(task.q);
    const int n = kv_rows(task.kv);
    const bool second_pass = schedule_.chains[task.chain].second_pass;
    auto& chain = chains_[task.chain];
    if (task.chain_starts) start_chain(chain, second_pass ? m : 0, second_pass ? 0 : n);
    scores(task, r, c, m, n, work);

    Ops::pack(work.ds_left, Ops::view(work.ds.data(), n, m, n), recipe_.dtype());
    if (second_pass) {
      Ops::multiply(work.ds_left, c.k_right, chain->dq.data(), dim_, Start::accumulate);
    } else {
      Ops::pack(work.p_left, Ops::transposed(work.p.data(), n, m, n), recipe_.dtype());
      Ops::multiply(work.p_left, r.dout_right, chain->dv.data(), dim_, Start::accumulate);
      Ops::pack(work.ds_transposed, Ops::transposed(work.ds.data(), n, m, n), recipe_.dtype());
      Ops::multiply(work.ds_transposed, r.q_right, chain->dk.data(), dim_, Start::accumulate);
      if (task.reduces) reduce(task, r, c, m, work);
    }
    if (task.chain_ends) end_chain(task, second_pass, work);
    if (r.uses.fetch_sub(1) == 1) {
      r.q_left = {}, r.dout_left = {}, r.q_right = {}, r.dout_right = {};
      r.lse2 = {}, r.dpsum = {};
    }
    if (c.uses.fetch_sub(1) == 1) c.k_transposed = {}, c.v_transposed = {}, c.k_right = {};
  }

  /// p and ds of one tile, m x n, into the workspace.
  void scores(const ReadyTask& task, const RowState<Element>& r, const ColumnState<Element>& c, int m, int n,
              Workspace<Element>& work) {
    const auto area = static_cast<std::size_t>(m) * static_cast<std::size_t>(n);
    work.s.resize(area), work.dp.resize(area), work.p.resize(area), work.ds.resize(area);
    Ops::multiply(r.q_left, c.k_transposed, work.s.data(), n, Start::zero);
    Ops::multiply(r.dout_left, c.v_transposed, work.dp.data(), n, Start::zero);
    const bool partial = tiles_.at(QTile{task.q}, KvTile{task.kv}) == TileClass::partial;
    for (int i = 0; i < m; ++i) {
      const auto at = static_cast<std::size_t>(i) * static_cast<std::size_t>(n);
      const std::span<float> s(work.s.data() + at, static_cast<std::size_t>(n));
      if (partial) mask_row(problem_, task.q * problem_.tile_q + i, task.kv * problem_.tile_kv, s);
      recipe_.probabilities(s, {work.dp.data() + at, static_cast<std::size_t>(n)},
                            r.lse2[static_cast<std::size_t>(i)], r.dpsum[static_cast<std::size_t>(i)],
                            work.p.data() + at, work.ds.data() + at);
    }
  }

  void start_chain(std::unique_ptr<ChainState>& chain, int q_rows_of_dq, int kv_rows_of_dk) const {
    chain = std::make_unique<ChainState>();
    const auto dim = static_cast<std::size_t>(dim_);
    chain->dq.assign(static_cast<std::size_t>(q_rows_of_dq) * dim, 0.0F);
    chain->dk.assign(static_cast<std::size_t>(kv_rows_of_dk) * dim, 0.0F);
    chain->dv.assign(static_cast<std::size_t>(kv_rows_of_dk) * dim, 0.0F);
  }

  /// Adds the dQ partial of a tile to its row. The data flow has seen to it that this is the task's turn.
  void reduce(const ReadyTask& task, RowState<Element>& r, const ColumnState<Element>& c, int m,
              Workspace<Element>& work) {
    const auto size = static_cast<std::size_t>(m) * static_cast<std::size_t>(dim_);
    work.dq.resize(size);
    Ops::multiply(work.ds_left, c.k_right, work.dq.data(), dim_, Start::zero);
    if (task.rank == 0) r.dq.assign(size, 0.0F);
    const std::uint32_t buffers = recipe_.dq_buffers();
    if (buffers == 0) {
      add_to(r.dq, work.dq);
    } else {
      if (r.dq_buffer.empty()) r.dq_buffer.assign(size, 0.0F);
      add_to(r.dq_buffer, work.dq);
      const auto order = schedule_.reduce_order(task.head * q_tiles_ + task.q);
      if (task.row_ends || order[task.rank + 1] % buffers != task.kv % buffers) {
        add_to(r.dq, r.dq_buffer);
        r.dq_buffer = {};
      }
    }
    if (task.row_ends) {
      write(r.dq, true, q_place(task.head, task.q), Ops::data(result_.dq));
      r.dq = {};
    }
  }

  void end_chain(const ReadyTask& task, bool second_pass, Workspace<Element>&) {
    std::unique_ptr<ChainState> chain = std::move(chains_[task.chain]);
    if (second_pass) {
      write(chain->dq, true, q_place(task.head, task.q), Ops::data(result_.dq));
      return;
    }
    const std::uint32_t kv_head = problem_.kv_head_of(HeadId{task.head});
    if (groups_ == nullptr) {
      write_kv(chain->dk, chain->dv, kv_head, task.kv);
      return;
    }
    const auto group_size = static_cast<std::size_t>(problem_.group_size());
    const std::size_t tile = kv_head * kv_tiles_ + task.kv;
    const std::uint32_t* order = schedule_.group_order.data() + tile * group_size;
    GroupState& group = groups_[tile];
    const std::lock_guard lock(group.mutex);
    if (group.waiting.empty()) {
      group.waiting.resize(group_size);
      group.dk.assign(chain->dk.size(), 0.0F);
      group.dv.assign(chain->dv.size(), 0.0F);
    }
    group.waiting[static_cast<std::size_t>(std::find(order, order + group_size, task.head) - order)] =
        std::move(chain);
    for (; group.next < group_size && group.waiting[group.next] != nullptr; ++group.next) {
      add_to(group.dk, group.waiting[group.next]->dk);
      add_to(group.dv, group.waiting[group.next]->dv);
      group.waiting[group.next].reset();
    }
    if (group.next == group_size) {
      write_kv(group.dk, group.dv, kv_head, task.kv);
      group.dk = {}, group.dv = {};
    }
  }

  void write_kv(const std::vector<float>& dk, const std::vector<float>& dv, std::uint32_t kv_head,
                std::uint32_t kv) {
    write(dk, true, kv_place(kv_head, kv), Ops::data(result_.dk));
    write(dv, false, kv_place(kv_head, kv), Ops::data(result_.dv));
  }

  void write(const std::vector<float>& accumulator, bool scaled, HeadRows place, Element* out) const {
    const auto dim = static_cast<std::size_t>(dim_);
    for (std::size_t at = 0; at < accumulator.size(); at += dim, place.first += place.stride)
      recipe_.finish({accumulator.data() + at, dim}, scaled, out + place.first);
  }

  const Problem& problem_;
  const TileMap& tiles_;
  const Schedule& schedule_;
  const AttentionInputs& inputs_;
  const BackwardRecipe<Element>& recipe_;
  const RunControl& control_;
  Dataflow flow_;
  int dim_;
  std::size_t q_tiles_;
  std::size_t kv_tiles_;
  std::unique_ptr<RowState<Element>[]> rows_;
  std::unique_ptr<ColumnState<Element>[]> columns_;
  std::unique_ptr<GroupState[]> groups_;
  std::vector<std::unique_ptr<ChainState>> chains_;
  Gradients result_;
};

template <typename Element>
Gradients checked_run(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                      const AttentionInputs& inputs, const BackwardRecipe<Element>& recipe,
                      const RunControl& control) {
  check(problem, inputs, Pass::backward);
  if (inputs.q.dtype != recipe.dtype())
    throw BadInput(fmt::format("the tensors are {} but recipe {} wants {}; choose the profile that fits",
                               to_string(inputs.q.dtype), recipe.name(), to_string(recipe.dtype())));
  if (schedule.dq_mode == DqMode::arrival)
    throw BadInput(
        fmt::format("schedule '{}' adds dQ in arrival order; give --arrival random:SEED", schedule.name));
  if (recipe.dtype() != DType::f32 && (problem.tile_q % 16 != 0 || problem.tile_kv % 16 != 0))
    throw BadInput(fmt::format("tiles of {} x {}: tensor cores sum 16 at a time; use multiples of 16",
                               problem.tile_q, problem.tile_kv));
  const Verification proof = verify(problem, tiles, schedule, schedule.chains.size());
  for (const VerifyError& error : proof.errors)
    if (error.kind != ErrorKind::residency)
      throw BadInput(fmt::format("schedule '{}': {}", schedule.name, error.message));
  return BackwardRun<Element>(problem, tiles, schedule, inputs, recipe, control).run();
}

}  // namespace

Gradients run_backward(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                       const AttentionInputs& inputs, const BackwardRecipe<std::uint16_t>& recipe,
                       const RunControl& control) {
  return checked_run(problem, tiles, schedule, inputs, recipe, control);
}

Gradients run_backward(const Problem& problem, const TileMap& tiles, const Schedule& schedule,
                       const AttentionInputs& inputs, const BackwardRecipe<float>& recipe,
                       const RunControl& control) {
  return checked_run(problem, tiles, schedule, inputs, recipe, control);
}

}  // namespace dashlab
