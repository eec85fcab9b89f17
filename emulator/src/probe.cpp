#include "dashlab/emulator/probe.hpp"

#include <algorithm>
#include <bit>

#include "dashlab/emulator/fa2.hpp"
#include "dashlab/emulator/ieee.hpp"
#include "operands.hpp"
#include "tile_mask.hpp"

namespace dashlab {

namespace {

template <typename Element>
class ProbeOf final : public Probe {
  using Ops = Operands<Element>;

 public:
  ProbeOf(std::unique_ptr<BackwardRecipe<Element>> recipe, const Problem& problem, const TileMap& tiles,
          const AttentionInputs& inputs)
      : recipe_(std::move(recipe)), problem_(problem), tiles_(tiles), inputs_(inputs) {
    dq_buffers_ = recipe_->dq_buffers();
  }

  [[nodiscard]] std::vector<float> dq_partial(std::uint32_t head, std::int64_t q,
                                              std::uint32_t kv) const override {
    const std::int64_t key = kv * problem_.tile_kv;
    const auto n = static_cast<int>(std::min(problem_.tile_kv, problem_.seqlen_k - key));
    std::vector<Element> p, ds;
    scores(head, q, 1, key, n, kv, p, ds);
    std::vector<float> row(static_cast<std::size_t>(problem_.head_dim), 0.0F);
    multiply(Ops::view(ds.data(), n, 1, n), view_of(inputs_.k, kv_place(head, key), n), row, Start::zero);
    return row;
  }

  void kv_step(KvRow& row, std::uint32_t head, std::int64_t key, std::uint32_t q_tile) const override {
    const std::int64_t q = q_tile * problem_.tile_q;
    const auto m = static_cast<int>(std::min(problem_.tile_q, problem_.seqlen_q - q));
    const auto kv = static_cast<std::uint32_t>(key / problem_.tile_kv);
    row.dk.resize(static_cast<std::size_t>(problem_.head_dim), 0.0F);
    row.dv.resize(row.dk.size(), 0.0F);
    std::vector<Element> p, ds;
    scores(head, q, m, key, 1, kv, p, ds);
    multiply(Ops::transposed(p.data(), 1, m, 1), view_of(inputs_.dout, q_place(head, q), m), row.dv,
             Start::accumulate);
    multiply(Ops::transposed(ds.data(), 1, m, 1), view_of(inputs_.q, q_place(head, q), m), row.dk,
             Start::accumulate);
  }

  [[nodiscard]] std::vector<std::uint32_t> rounded(const std::vector<float>& accumulator,
                                                   bool scaled) const override {
    std::vector<Element> out(accumulator.size());
    recipe_->finish(accumulator, scaled, out.data());
    std::vector<std::uint32_t> bits;
    bits.reserve(out.size());
    for (const Element e : out) {
      if constexpr (sizeof(Element) == 4)
        bits.push_back(std::bit_cast<std::uint32_t>(e));
      else
        bits.push_back(e);
    }
    return bits;
  }

 private:
  [[nodiscard]] HeadRows q_place(std::uint32_t head, std::int64_t q) const {
    HeadRows place = head_rows(problem_.seqlen_q, problem_.heads, problem_.head_dim, head);
    place.first += q * place.stride;
    return place;
  }
  [[nodiscard]] HeadRows kv_place(std::uint32_t head, std::int64_t key) const {
    HeadRows place =
        head_rows(problem_.seqlen_k, problem_.kv_heads, problem_.head_dim, problem_.kv_head_of(HeadId{head}));
    place.first += key * place.stride;
    return place;
  }
  [[nodiscard]] auto view_of(const TensorView& tensor, HeadRows place, int rows) const {
    return Ops::view(Ops::data(tensor) + place.first, place.stride, rows,
                     static_cast<int>(problem_.head_dim));
  }
  template <typename View>
  void multiply(const View& a, const View& b, std::vector<float>& c, Start start) const {
    typename Ops::Left left;
    typename Ops::Right right;
    Ops::pack(left, a, recipe_->dtype());
    Ops::pack(right, b, recipe_->dtype());
    Ops::multiply(left, right, c.data(), b.cols, start);
  }

  /// p and ds of m x n elements from row q and key `key` on, inside kv tile `kv`.
  void scores(std::uint32_t head, std::int64_t q, int m, std::int64_t key, int n, std::uint32_t kv,
              std::vector<Element>& p, std::vector<Element>& ds) const {
    const auto area = static_cast<std::size_t>(m) * static_cast<std::size_t>(n);
    std::vector<float> s(area), dp(area);
    p.resize(area), ds.resize(area);
    const auto dim = static_cast<std::size_t>(problem_.head_dim);
    multiply(view_of(inputs_.q, q_place(head, q), m), view_of(inputs_.k, kv_place(head, key), n).transposed(),
             s, Start::zero);
    multiply(view_of(inputs_.dout, q_place(head, q), m),
             view_of(inputs_.v, kv_place(head, key), n).transposed(), dp, Start::zero);
    const bool partial =
        tiles_.at(QTile{static_cast<std::uint32_t>(q / problem_.tile_q)}, KvTile{kv}) == TileClass::partial;
    for (int i = 0; i < m; ++i) {
      const auto at = static_cast<std::size_t>(i) * static_cast<std::size_t>(n);
      const std::span<float> row(s.data() + at, static_cast<std::size_t>(n));
      if (partial) mask_row(problem_, q + i, key, row);
      const HeadRows place = q_place(head, q + i);
      const float lse2 =
          recipe_->lse_base2(inputs_.lse.f32()[std::int64_t{head} * problem_.seqlen_q + q + i]);
      const float dpsum = recipe_->row_dot({Ops::data(inputs_.dout) + place.first, dim},
                                           {Ops::data(inputs_.o) + place.first, dim});
      recipe_->probabilities(row, {dp.data() + at, row.size()}, lse2, dpsum, p.data() + at, ds.data() + at);
    }
  }

  std::unique_ptr<BackwardRecipe<Element>> recipe_;
  const Problem& problem_;
  const TileMap& tiles_;
  const AttentionInputs& inputs_;
};

void add_to(std::vector<float>& sum, const std::vector<float>& x) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += x[i];
}

}  // namespace

std::vector<std::uint32_t> Probe::dq_row(const std::vector<std::vector<float>>& partials,
                                         const std::vector<std::uint32_t>& kv_tiles) const {
  if (partials.empty()) return {};
  std::vector<float> sum(partials.front().size(), 0.0F);
  if (dq_buffers_ == 0) {
    for (const auto& partial : partials) add_to(sum, partial);
    return rounded(sum, true);
  }
  std::vector<float> buffer(sum.size(), 0.0F);
  for (std::size_t i = 0; i < partials.size(); ++i) {
    add_to(buffer, partials[i]);
    if (i + 1 == partials.size() || kv_tiles[i + 1] % dq_buffers_ != kv_tiles[i] % dq_buffers_) {
      add_to(sum, buffer);
      buffer.assign(sum.size(), 0.0F);
    }
  }
  return rounded(sum, true);
}

std::unique_ptr<Probe> make_probe(const RecipeRun& run, const Problem& problem, const TileMap& tiles,
                                  const AttentionInputs& inputs) {
  const DType type = inputs.q.dtype;
  if (type == DType::f32)
    return std::make_unique<ProbeOf<float>>(ieee_backward_recipe(run.scale), problem, tiles, inputs);
  auto recipe = run.recipe == "fa2-torch"
                    ? fa2_backward_recipe(type, problem.head_dim, run.scale, fa2_dq_buffers(problem, run.sms))
                    : fa3_backward_recipe(type, problem.head_dim, run.scale);
  return std::make_unique<ProbeOf<std::uint16_t>>(std::move(recipe), problem, tiles, inputs);
}

Schedule schedule_of(const RecipeRun& run, const Problem& problem, const TileMap& tiles,
                     const Schedule& schedule) {
  return run.recipe == "fa2-torch" ? fa2_schedule(problem, tiles, run.sms) : schedule;
}

}  // namespace dashlab
