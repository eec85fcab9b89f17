// Notebook 2: the five products of the backward pass, cut into tiles, and the graph that this makes.
// %% [markdown]
// # 2. The backward pass as tiles
//
// Attention takes queries Q, keys K and values V (one row per token, d columns) and computes
//
//     S = scale · Q Kᵀ
//     P = softmax of S, row by row
//     O = P V
//
// The backward pass gets dO, the gradient of the loss by O, and returns dQ, dK and dV. This notebook derives
// it in five matrix products, cuts them into tiles, and asks who has to wait for whom. The answer is a graph,
// and everything that follows in this course is about that graph.
// %%
#include <cmath>
#include <string>
#include <vector>

#include "dashlab/core/schedule.hpp"
#include "dashlab/core/simulate.hpp"
#include "dashlab/core/verify.hpp"
#include "dashlab/viz/dag_picture.hpp"
#include "notebook.hpp"

using namespace dashlab;

// %% [markdown]
// ## A matrix, small and plain
//
// Double precision and triple loops: this notebook is about structure. Bits come later.
// %%
struct Matrix {
  int rows = 0;
  int cols = 0;
  std::vector<double> values = std::vector<double>(static_cast<std::size_t>(rows) * cols);

  double& at(int i, int j) { return values[static_cast<std::size_t>(i) * cols + j]; }
  double at(int i, int j) const { return values[static_cast<std::size_t>(i) * cols + j]; }
};

// %%
Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c{a.rows, b.cols};
  for (int i = 0; i < a.rows; ++i) {
    for (int j = 0; j < b.cols; ++j) {
      for (int k = 0; k < a.cols; ++k) c.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return c;
}

Matrix transposed(const Matrix& a) {
  Matrix t{a.cols, a.rows};
  for (int i = 0; i < a.rows; ++i) {
    for (int j = 0; j < a.cols; ++j) t.at(j, i) = a.at(i, j);
  }
  return t;
}

// Some numbers without a pattern.
Matrix sample(int rows, int cols, double start) {
  Matrix m{rows, cols};
  for (std::size_t i = 0; i < m.values.size(); ++i)
    m.values[i] = std::sin(start + 1.7 * static_cast<double>(i));
  return m;
}

// Rows first .. first + count - 1.
Matrix rows_of(const Matrix& a, int first, int count) {
  Matrix part{count, a.cols};
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < a.cols; ++j) part.at(i, j) = a.at(first + i, j);
  }
  return part;
}

double largest_difference(const Matrix& a, const Matrix& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    most = std::max(most, std::abs(a.values[i] - b.values[i]));
  }
  return most;
}

// %% [markdown]
// ## Forward
//
// What the backward pass keeps of the forward pass is O and one number per row, the *log-sum-exp*
// lse = log Σ exp(s). With it every element of P can be made again from its score alone:
// p = exp(s - lse). No row of P has to be kept, and no row has to be seen whole again.
// %%
const double scale = 0.5;

struct Forward {
  Matrix o;
  std::vector<double> lse;
};

Matrix probabilities(const Matrix& q, const Matrix& k, const std::vector<double>& lse) {
  Matrix p = product(q, transposed(k));
  for (int i = 0; i < p.rows; ++i) {
    for (int j = 0; j < p.cols; ++j)
      p.at(i, j) = std::exp(scale * p.at(i, j) - lse[static_cast<std::size_t>(i)]);
  }
  return p;
}

Forward forward(const Matrix& q, const Matrix& k, const Matrix& v) {
  const Matrix s = product(q, transposed(k));
  Forward result;
  for (int i = 0; i < s.rows; ++i) {
    double sum = 0;
    for (int j = 0; j < s.cols; ++j) sum += std::exp(scale * s.at(i, j));
    result.lse.push_back(std::log(sum));
  }
  result.o = product(probabilities(q, k, result.lse), v);
  return result;
}

// %% [markdown]
// ## Backward: five products
//
// Let the loss be L and write dX for ∂L/∂X. From O = P V follow dV = Pᵀ dO and dP = dO Vᵀ. The softmax of a
// row has the derivative ds = p · (dp - Σ p dp), and Σ p dp over a row is Σ dO O: a number per row that can
// be computed beforehand (*dpsum*). From S = scale · Q Kᵀ follow dQ = scale · dS K and dK = scale · dSᵀ Q.
//
// | product | gives | sums over |
// | --- | --- | --- |
// | Q Kᵀ | S, from it P | head dim |
// | dO Vᵀ | dP, from it dS | head dim |
// | Pᵀ dO | dV | queries |
// | dSᵀ Q | dK | queries |
// | dS K | dQ | **keys** |
//
// The function works on any block of queries and any block of keys: *a tile*. It adds what the tile
// contributes.
// %%
struct Gradients {
  Matrix dq, dk, dv;
};

void add_rows(Matrix& to, int first, const Matrix& part, double factor) {
  for (int i = 0; i < part.rows; ++i) {
    for (int j = 0; j < part.cols; ++j) to.at(first + i, j) += factor * part.at(i, j);
  }
}

struct Inputs {
  Matrix q, k, v, dout;
  Forward kept;
};

void add_tile(const Inputs& in, int q_first, int q_count, int k_first, int k_count, Gradients& sums) {
  const Matrix q = rows_of(in.q, q_first, q_count);
  const Matrix k = rows_of(in.k, k_first, k_count);
  const Matrix v = rows_of(in.v, k_first, k_count);
  const Matrix dout = rows_of(in.dout, q_first, q_count);
  const std::vector<double> lse(in.kept.lse.begin() + q_first, in.kept.lse.begin() + q_first + q_count);

  const Matrix p = probabilities(q, k, lse);  // product 1
  Matrix ds = product(dout, transposed(v));   // product 2
  for (int i = 0; i < ds.rows; ++i) {
    double dpsum = 0;
    for (int j = 0; j < dout.cols; ++j) dpsum += dout.at(i, j) * in.kept.o.at(q_first + i, j);
    for (int j = 0; j < ds.cols; ++j) ds.at(i, j) = p.at(i, j) * (ds.at(i, j) - dpsum);
  }
  add_rows(sums.dv, k_first, product(transposed(p), dout), 1);    // product 3
  add_rows(sums.dk, k_first, product(transposed(ds), q), scale);  // product 4
  add_rows(sums.dq, q_first, product(ds, k), scale);              // product 5
}

// %%
int main() {  // hidden
  // %% [markdown]
  // ## Check it against the definition
  //
  // One tile that covers everything, against finite differences of the loss L = Σ dO · O.
  // %%
  const int tokens = 8;
  const int dim = 4;
  Inputs in{
      sample(tokens, dim, 1), sample(tokens, dim, 2), sample(tokens, dim, 3), sample(tokens, dim, 4), {}};
  in.kept = forward(in.q, in.k, in.v);
  const auto zeros = [&] { return Gradients{{tokens, dim}, {tokens, dim}, {tokens, dim}}; };
  Gradients whole = zeros();
  add_tile(in, 0, tokens, 0, tokens, whole);

  const auto loss = [&] {
    const Matrix o = forward(in.q, in.k, in.v).o;
    double sum = 0;
    for (std::size_t i = 0; i < o.values.size(); ++i) sum += in.dout.values[i] * o.values[i];
    return sum;
  };
  const auto error_against_differences = [&](Matrix& x, const Matrix& gradient) {
    const double step = 1e-5;
    double most = 0;
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      const double kept = x.values[i];
      x.values[i] = kept + step;
      const double above = loss();
      x.values[i] = kept - step;
      const double below = loss();
      x.values[i] = kept;
      most = std::max(most, std::abs((above - below) / (2 * step) - gradient.values[i]));
    }
    return most;
  };
  const double error_q = error_against_differences(in.q, whole.dq);
  const double error_k = error_against_differences(in.k, whole.dk);
  const double error_v = error_against_differences(in.v, whole.dv);
  std::cout << "largest distance from finite differences: dQ " << error_q << ", dK " << error_k << ", dV "
            << error_v << '\n';
  notebook::require(std::max({error_q, error_k, error_v}) < 1e-8, "the five products are the gradient");

  // %% [markdown]
  // ## Now in tiles
  //
  // Cut the queries into blocks of 2 and the keys into blocks of 4 and visit the tiles in any order: the same
  // gradient, up to rounding. In exact arithmetic the order does not matter. (In floating point it is all
  // that matters: notebook 1.)
  // %%
  Gradients tiled = zeros();
  int visited = 0;
  for (int k_first = 0; k_first < tokens; k_first += 4) {
    for (int q_first = tokens - 2; q_first >= 0; q_first -= 2) {
      add_tile(in, q_first, 2, k_first, 4, tiled);
      ++visited;
    }
  }
  const double apart =
      std::max({largest_difference(whole.dq, tiled.dq), largest_difference(whole.dk, tiled.dk),
                largest_difference(whole.dv, tiled.dv)});
  std::cout << visited << " tiles; largest distance from the whole: " << apart << '\n';
  notebook::require(apart < 1e-14, "tiles add up to the whole");

  // %% [markdown]
  // ## Who needs whom
  //
  // Look at where `add_tile` adds: rows of dK and dV that belong to its *keys*, rows of dQ that belong to its
  // *queries*. Give one processor (SM) all tiles of one kv block, one after another: it keeps dK and dV in
  // registers and nobody else ever touches them. That is a **chain**. But then the dQ of a query block gets
  // its parts from *different* SMs. They must add in a fixed order if the bits are to be fixed: the **reduce
  // order**.
  //
  // Masks leave tiles out. A tile map shows for each tile whether the mask leaves all of it (`#`), a part
  // (`/`), or nothing (`.`).
  // %%
  const auto show_map = [&](const char* text) {
    Problem problem;
    problem.seqlen_q = problem.seqlen_k = 512;
    problem.tile_q = problem.tile_kv = 64;
    problem.mask = parse_mask(text);
    const TileMap map(problem);
    std::cout << text << ": " << map.tasks_per_head() << " tasks of " << map.q_tiles() * map.kv_tiles()
              << '\n';
    for (std::uint32_t q = 0; q < map.q_tiles(); ++q) {
      std::cout << "  ";
      for (std::uint32_t kv = 0; kv < map.kv_tiles(); ++kv) {
        const TileClass tile = map.at(QTile{q}, KvTile{kv});
        std::cout << (tile == TileClass::full ? "# " : tile == TileClass::partial ? "/ " : ". ");
      }
      std::cout << '\n';
    }
    return map.tasks_per_head();
  };
  const std::uint64_t of_full = show_map("full");
  const std::uint64_t of_causal = show_map("causal");
  const std::uint64_t of_window = show_map("window:128,0");
  const std::uint64_t of_documents = show_map("documents:192,256,64");
  notebook::require(of_full == 64 && of_causal == 8 * 9 / 2, "causal: n (n + 1) / 2 tasks");
  notebook::require(of_window < of_causal && of_documents < of_causal, "windows and documents leave less");

  // %% [markdown]
  // ## The graph
  //
  // Each task has two phases: *compute* (products 1 to 4 and the dQ part) and *reduce* (adding that part to
  // memory). Two kinds of edges order them:
  //
  // - *program order*: the tasks of a chain, and the chains of an SM, one after another;
  // - *reduce order*: for each query block, its kv tiles in the order in which they may add.
  //
  // Below is a causal pass of 4 x 4 tiles under the schedule `descending`: a cluster per SM, program order
  // solid, reduce order dashed, the critical path bold. A red edge is one whose end has to wait: it would be
  // ready as early as its predecessor (notebook 4 makes a lemma of this).
  // %%
  const Problem problem = tile_problem(4, 4, 1, CausalMask{});
  const TileMap tiles(problem);
  const Schedule schedule = make_schedule("descending", problem, tiles, {.sms = 4});
  Timeline timeline;
  const Simulation simulation = simulate(problem, tiles, schedule, Costs{}, &timeline);
  notebook::show_svg(viz::draw_dag({.problem = &problem,
                                    .schedule = &schedule,
                                    .title = "causal, 4 x 4 tiles, descending",
                                    .sm_of_chain = simulation.sm_of_chain,
                                    .timeline = &timeline})
                         .bytes(viz::PictureFormat::svg));

  // %% [markdown]
  // How many edges are there? Each chain of *k* tasks has *k* - 1 program edges, each row of *k* tiles has
  // *k* - 1 reduce edges.
  // %%
  std::size_t program_edges = 0;
  for (std::size_t chain = 0; chain < schedule.chains.size(); ++chain) {
    program_edges += schedule.chain_steps(chain).size() - 1;
  }
  std::size_t reduce_edges = 0;
  for (std::size_t row = 0; row + 1 < schedule.row_begin.size(); ++row) {
    reduce_edges += schedule.reduce_order(row).size() - 1;
  }
  std::cout << schedule.steps.size() << " tasks, " << program_edges << " program edges, " << reduce_edges
            << " reduce edges\n"
            << "the longest path takes " << to_string(simulation.makespan_units()) << " c\n";
  notebook::require(schedule.steps.size() == 10 && program_edges == 6 && reduce_edges == 6,
                    "edges as counted");

  // %% [markdown]
  // ## What must hold
  //
  // A schedule is sound if every task is there once, every row's order names exactly the tiles that the mask
  // leaves, and the graph has no cycle. A cycle is a *deadlock*: SMs that wait for each other for ever. The
  // verifier proves it for a given schedule. Here is the smallest schedule that is not sound: two SMs, each
  // of which first does what the other has to wait for.
  // %%
  const Verification sound = verify(problem, tiles, schedule);
  std::cout << "descending: " << (sound.valid ? "valid" : "not valid") << '\n';
  notebook::require(sound.valid && sound.deadlock_free, "descending is sound");

  const Problem small = tile_problem(2, 2, 1, FullMask{});
  const TileMap small_tiles(small);
  Schedule circle = make_schedule("shift", small, small_tiles, {.sms = 2});
  circle.name = "circle";
  circle.reduce_kv = {1, 0, 0, 1};  // row 0: kv 1 first; row 1: kv 0 first
  const Verification verdict = verify(small, small_tiles, circle);
  for (const VerifyError& error : verdict.errors)
    std::cout << to_string(error.kind) << ": " << error.message << '\n';
  notebook::require(!verdict.deadlock_free && verdict.errors.front().cycle.size() == 4,
                    "the circle is found");
  notebook::show_svg(viz::draw_dag({.problem = &small,
                                    .schedule = &circle,
                                    .title = "a deadlock: the circle is red",
                                    .verification = &verdict})
                         .bytes(viz::PictureFormat::svg));

  // %% [markdown]
  // ## Exercises
  //
  // Solutions are tests: `tests/notebooks/test_exercises_2.cpp`.
  //
  // 1. How many tasks has a causal pass of *n* x *n* tiles, and how many edges of each kind?
  // 2. Give SMs whole *query* blocks instead of kv blocks. Which gradients then need a reduce order, and
  //    how many products would a pass take that needs none at all? (`two-pass` does that.)
  // 3. How many reduce orders has a full 3 x 3 pass in all? How many of them deadlock when the chains run
  //    as in `shift`? Count them with the verifier.
}  // hidden
