// Notebook 6: a GPU's gradients recomputed bit for bit; then something is broken, and the report is read.
// %% [markdown]
// # 6. The same bits twice
//
// `tests/data/fa3/` and `fa2/` hold tensors that attention kernels computed on an H200: inputs q, k,
// v, do, what the forward pass kept (o, lse), and the gradients dq, dk, dv that came out. No GPU is needed to
// judge them. If the model of notebook 5 is right and the schedule is known, every bit follows from the
// inputs.
// %%
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "dashlab/core/schedule.hpp"
#include "dashlab/emulator/audit.hpp"
#include "dashlab/emulator/inputs.hpp"
#include "dashlab/emulator/recipes.hpp"
#include "dashlab/emulator/reference.hpp"
#include "dashlab/emulator/safetensors.hpp"
#include "notebook.hpp"

using namespace dashlab;
using notebook::Table;

// %% [markdown]
// ## What is needed to predict a gradient
//
// The tensors, and a few words about the kernel: its recipe (how it rounds and in what order it computes
// within a tile), its tile sizes, its schedule. The files carry them as metadata.
// %%
// The kernel that a recording claims to come from.
AuditSetup setup_of(const SafetensorsFile& file, const Recording& recording) {
  AuditSetup setup;
  setup.run.recipe = file.metadata("recipe").value_or("fa3");
  setup.run.scale = std::stof(file.metadata("scale").value());
  setup.problem = problem_of(recording.inputs);
  setup.problem.mask = parse_mask(file.metadata("mask").value());
  const TileShape own = recipe_tiles(setup.run.recipe, Pass::backward, setup.problem);
  setup.problem.tile_q = std::stoi(file.metadata("tile_q").value_or(std::to_string(own.q)));
  setup.problem.tile_kv = std::stoi(file.metadata("tile_kv").value_or(std::to_string(own.kv)));
  const auto schedule = file.metadata("schedule");
  if (schedule)
    setup.schedule = make_schedule(*schedule, setup.problem, TileMap(setup.problem), {.sms = 132});
  return setup;
}

std::string data(const std::string& name) {
  return std::string(DASHLAB_TEST_DATA) + "/" + name + ".safetensors";
}

// For each tensor how many elements differ, and where the first one is.
void show(const AuditResult& result) {
  for (const Finding& finding : result.findings) {
    std::cout << "  " << finding.name << ": " << finding.comparison.elements << " elements, "
              << finding.comparison.differ << " differ";
    if (finding.first) {
      std::cout << "\n      first at [";
      const char* comma = "";
      for (const std::int64_t i : finding.first->index) {
        std::cout << comma << i;
        comma = ", ";
      }
      std::cout << "], " << finding.first->tile << "\n      recorded " << finding.first->recorded
                << ", computed " << finding.first->computed;
    }
    std::cout << '\n';
  }
}

std::int64_t differ(const AuditResult& result, const std::string& name) {
  for (const Finding& finding : result.findings) {
    if (finding.name == name) return finding.comparison.differ;
  }
  throw std::runtime_error("no tensor " + name);
}

// %%
int main() {  // hidden
  // %% [markdown]
  // ## One gradient
  //
  // FlashAttention-3, causal mask, 512 tokens, head dimension 64. It runs in the order that is called `spt`
  // here.
  // %%
  const SafetensorsFile file(data("fa3/spt_causal_d64_s512"));
  for (const auto& [key, value] : file.metadata()) std::cout << "  " << key << ": " << value << '\n';
  const Recording recording = read_recording(file);
  const AuditSetup setup = setup_of(file, recording);
  const TileMap tiles(setup.problem);
  const RunControl control;
  const Gradients computed =
      run_recipe_backward(setup.run, setup.problem, tiles, setup.schedule, recording.inputs, control);

  // %% [markdown]
  // Two digests, side by side: of the bytes that the GPU wrote, and of those that this program just computed.
  // %%
  const auto line = [](const char* name, const TensorView& gpu, const TensorView& cpu) {
    const std::string left = sha256(gpu.bytes());
    const std::string right = sha256(cpu.bytes());
    std::cout << name << "  GPU " << left.substr(0, 24) << "...  CPU " << right.substr(0, 24) << "...\n";
    notebook::require(left == right, std::string(name) + " is the same on both");
  };
  line("dq", recording.dq, computed.dq.view());
  line("dk", recording.dk, computed.dk.view());
  line("dv", recording.dv, computed.dv.view());

  // %% [markdown]
  // ## All of them
  //
  // Other head dimensions and masks, other orders (`ascending`; the DASH paper's `shift`), and gradients of
  // PyTorch's own attention, whose kernels compute quite differently (recipe `fa2-torch`: no flushing of
  // subnormals, dQ summed in several buffers).
  // %%
  Table all({"recording", "recipe", "schedule", "elements", "differ"});
  std::int64_t total = 0;
  for (const char* name :
       {"fa3/spt_causal_d64_s512", "fa3/spt_causal_d128_s384", "fa3/ascending_full_d128_s400",
        "fa3/shift_full_d128_s1024", "fa2/causal_d64_s512", "fa2/full_d128_s400"}) {
    const SafetensorsFile one(data(name));
    const Recording run = read_recording(one);
    const AuditSetup how = setup_of(one, run);
    const AuditResult result = audit(run, how, control);
    std::int64_t elements = 0;
    std::int64_t wrong = 0;
    for (const Finding& finding : result.findings) {
      elements += finding.comparison.elements;
      wrong += finding.comparison.differ;
    }
    all.add(name, how.run.recipe, how.schedule.name.empty() ? "its own" : how.schedule.name, elements, wrong);
    notebook::require(result.equal(), std::string(name) + " has the bits that it must have");
    total += elements;
  }
  all.print();
  std::cout << total << " gradients, every bit\n";

  // %% [markdown]
  // ## Break something: one bit
  //
  // A cosmic ray after all. Flip the last bit of one element of dq.
  // %%
  Tensor struck = Tensor::copy_of(recording.dq);
  const std::int64_t place = 300 * 64 + 17;  // row 300, column 17
  struck.u16()[place] ^= 1;
  Recording damaged = recording;
  damaged.dq = struck.view();
  const AuditResult of_ray = audit(damaged, setup, control);
  show(of_ray);
  notebook::require(differ(of_ray, "dq") == 1 && differ(of_ray, "dk") == 0 && differ(of_ray, "dv") == 0,
                    "one element of one tensor");
  notebook::require(of_ray.findings[0].first->index == std::vector<std::int64_t>{0, 300, 0, 17},
                    "at its place");

  // %% [markdown]
  // One element in one tensor, and the report names it. Real mistakes look different: their *pattern* tells
  // what went wrong. Keep in mind what decides the bits:
  //
  // - dq: the kv tile size and the reduce order;
  // - dk, dv: the q order, in steps of 16 rows;
  // - all of them: the recipe's arithmetic.
  //
  // ## The wrong reduce order
  //
  // Judge the same file as if it came from a kernel that adds in ascending order.
  // %%
  AuditSetup wrong = setup;
  wrong.schedule = make_schedule("ascending", setup.problem, tiles, {.sms = 132});
  const AuditResult of_reduce = audit(recording, wrong, control);
  show(of_reduce);
  notebook::require(
      differ(of_reduce, "dq") > 0 && differ(of_reduce, "dk") == 0 && differ(of_reduce, "dv") == 0,
      "the reduce order shows in dq alone");

  // %% [markdown]
  // Only dq. And not from its first row on: with 128 x 128 tiles rows 0 to 127 see one kv tile and rows 128
  // to 255 two, and two numbers have only one sum. The first row that can differ is 256. Which q tile is the
  // first one that does?
  // %%
  const std::vector<std::int64_t>& first = of_reduce.findings[0].first->index;
  notebook::require(differ(of_reduce, "dq") == 2 && recording.dq.elements() == 32768,
                    "two elements tell the orders apart");
  std::cout << "first difference in row " << first[1] << ", q tile " << first[1] / setup.problem.tile_q
            << '\n';
  notebook::require(first[1] >= 256, "rows with one or two parts cannot differ");

  // %% [markdown]
  // ## The wrong q order
  //
  // Keep the reduce orders and let every chain walk its rows backwards.
  // %%
  AuditSetup backwards = setup;
  for (std::size_t chain = 0; chain < backwards.schedule.chains.size(); ++chain) {
    const auto begin = backwards.schedule.steps.begin();
    std::reverse(begin + static_cast<std::ptrdiff_t>(backwards.schedule.chain_begin[chain]),
                 begin + static_cast<std::ptrdiff_t>(backwards.schedule.chain_begin[chain + 1]));
  }
  const AuditResult of_q = audit(recording, backwards, control);
  show(of_q);
  notebook::require(differ(of_q, "dq") == 0 && differ(of_q, "dk") > 0 && differ(of_q, "dv") > 0,
                    "the q order shows in dk and dv");

  // %% [markdown]
  // ## The wrong tiles
  //
  // Halving the kv tile makes other parts of dq. Halving the *q* tile changes nothing: the chain still sees
  // the same rows in the same order, and its steps are 16 rows long in any case.
  // %%
  const auto with_tiles = [&](std::int64_t tile_q, std::int64_t tile_kv) {
    AuditSetup other = setup;
    other.problem.tile_q = tile_q;
    other.problem.tile_kv = tile_kv;
    other.schedule = make_schedule("spt", other.problem, TileMap(other.problem), {.sms = 132});
    return audit(recording, other, control);
  };
  const AuditResult half_kv = with_tiles(128, 64);
  const AuditResult half_q = with_tiles(64, 128);
  std::cout << "tiles 128 x 64:\n";
  show(half_kv);
  std::cout << "tiles 64 x 128:\n";
  show(half_q);
  notebook::require(differ(half_kv, "dq") > 0 && differ(half_kv, "dk") == 0, "the kv tile shows in dq");
  notebook::require(half_q.equal(), "the q tile shows nowhere");

  // %% [markdown]
  // ## The wrong arithmetic
  //
  // Take PyTorch's recipe for FlashAttention-3's gradient: same mathematics, other roundings.
  // %%
  AuditSetup other_recipe = setup;
  other_recipe.run.recipe = "fa2-torch";
  const AuditResult of_recipe = audit(recording, other_recipe, control);
  show(of_recipe);
  notebook::require(differ(of_recipe, "dq") > differ(of_reduce, "dq") && differ(of_recipe, "dk") > 0 &&
                        differ(of_recipe, "dv") > 0,
                    "the arithmetic shows everywhere");

  // %% [markdown]
  // A table to read reports by:
  // %%
  Table pattern({"what was wrong", "dq", "dk", "dv"});
  const auto pattern_row = [&](const char* what, const AuditResult& result) {
    pattern.add(what, differ(result, "dq"), differ(result, "dk"), differ(result, "dv"));
  };
  pattern_row("nothing", audit(recording, setup, control));
  pattern_row("one bit", of_ray);
  pattern_row("reduce order", of_reduce);
  pattern_row("q order", of_q);
  pattern_row("kv tile size", half_kv);
  pattern_row("q tile size", half_q);
  pattern_row("recipe", of_recipe);
  pattern.print();

  // %% [markdown]
  // ## Different is not wrong
  //
  // Against double precision the GPU's gradient and the one in the wrong order are equally good. An audit
  // does not ask whether a gradient is *accurate*; it asks whether it is *this kernel's*.
  // %%
  const Reference reference =
      fp64_reference(setup.problem, recording.inputs, static_cast<double>(setup.run.scale), control);
  const Gradients ascending =
      run_recipe_backward(setup.run, setup.problem, tiles, wrong.schedule, recording.inputs, control);
  const double error_gpu = error_norms(recording.dq, reference.dq).relative_l2;
  const double error_other = error_norms(ascending.dq.view(), reference.dq).relative_l2;
  std::cout << std::setprecision(6) << "relative error of dq: GPU " << error_gpu << ", other order "
            << error_other << '\n';
  notebook::require(std::abs(error_gpu - error_other) < 0.01 * error_gpu, "both are equally far from fp64");

  // %% [markdown]
  // Nor does it prove an order that few elements can tell. Rounding to bf16 hides most of what an order does
  // (two elements of 32,768 above), and a small recording may fit more than one. Large recordings are better
  // witnesses.
  //
  // On the command line all of this is `dashlab audit FILE`, with flags for what was changed here
  // (`--schedule`, `--tile-kv`, `--recipe`). Your own runs can be judged the same way; the README shows the
  // ten lines of Python that save one. With a GPU, `dashlab crosscheck` puts both sides of this notebook into
  // one command.
  //
  // ## Exercises
  //
  // Solutions are tests: `tests/notebooks/test_exercises_6.cpp`.
  //
  // 1. Turn around the reduce order of q tile 2 only. How many elements of dq can differ at most? How many
  // do?
  // 2. A colleague lost the metadata of `ascending_full_d128_s400`. Which named schedules fit its
  //    gradient? Why more than one?
  // 3. Does moving all chains to one SM change a bit? Prove it by audit.
}  // hidden
