// The fp64 reference, held against mathematics and against the emulator.
#include <doctest/doctest.h>

#include <cmath>

#include "dashlab/emulator/reference.hpp"
#include "small_runs.hpp"

using namespace dashlab;
using namespace dashlab::test;

TEST_CASE("a query that sees one key copies its value and has no gradient of its own") {
  const SmallRun run(small_problem(40, 16, "window:0,0"), DType::f32);
  const Reference r = fp64_reference(run.problem, run.inputs(), 0.25, {});
  for (std::int64_t i = 0; i < run.seeded.v.view().elements(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    CHECK(r.o[at] == static_cast<double>(run.seeded.v.view().value(i)));
    CHECK(r.dv[at] == static_cast<double>(run.seeded.dout.view().value(i)));
    CHECK(std::abs(r.dq[at]) < 1e-14);
  }
}

TEST_CASE("the reference gradient is the slope of the reference loss") {
  const Problem p = small_problem(12, 16, "causal");
  SmallRun run(p, DType::f32, 9);
  const double scale = 0.25;
  const auto loss = [&] {
    const Reference r = fp64_reference(p, run.seeded.view(), scale, {});
    double sum = 0;
    for (std::size_t i = 0; i < r.o.size(); ++i)
      sum += r.o[i] * static_cast<double>(run.seeded.dout.view().value(static_cast<std::int64_t>(i)));
    return sum;
  };
  const Reference r = fp64_reference(p, run.seeded.view(), scale, {});
  const float nudge = 0x1p-10F;
  for (const std::size_t i : {5u, 100u, 191u}) {
    for (auto [tensor, gradient] : {std::pair<Tensor*, double>{&run.seeded.q, r.dq[i]},
                                    {&run.seeded.k, r.dk[i]},
                                    {&run.seeded.v, r.dv[i]}}) {
      const float kept = tensor->f32()[i];
      tensor->f32()[i] = kept + nudge;
      const double up = loss();
      const double high = static_cast<double>(tensor->f32()[i]);
      tensor->f32()[i] = kept - nudge;
      const double down = loss();
      const double slope = (up - down) / (high - static_cast<double>(tensor->f32()[i]));
      tensor->f32()[i] = kept;
      CHECK(slope == doctest::Approx(gradient).epsilon(1e-4));
    }
  }
}

TEST_CASE("each profile lies as far from the reference as its formats say") {
  struct Bound {
    DType dtype;
    double relative;
  };
  for (const Bound bound : {Bound{DType::bf16, 6e-3}, Bound{DType::f16, 8e-4}, Bound{DType::f32, 2e-6}}) {
    Problem p = small_problem(200, 64, "causal", 64, 64);
    p.heads = 2;
    p.kv_heads = 1;
    const SmallRun run(p, bound.dtype);
    const Gradients g = run.gradients(run.schedule("spt"));
    const Reference r = fp64_reference(p, run.inputs(), static_cast<double>(run.run.scale), {});
    CHECK(error_norms(g.dq.view(), r.dq).relative_l2 < bound.relative);
    CHECK(error_norms(g.dk.view(), r.dk).relative_l2 < bound.relative);
    CHECK(error_norms(g.dv.view(), r.dv).relative_l2 < bound.relative);
    CHECK(error_norms(run.forward.o.view(), r.o).relative_l2 < bound.relative);
    CHECK(error_norms(run.forward.lse.view(), r.lse).relative_l2 < 1e-6);
    CHECK(error_norms(g.dq.view(), r.dq).relative_l2 > 0);
  }
}
