// What the emulator's arithmetic reaches on one core.
#include "dashlab/bench/cpu.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dashlab/emulator/float_types.hpp"
#include "dashlab/emulator/product.hpp"
#include "dashlab/emulator/simd.hpp"
#include "dashlab/emulator/special_functions.hpp"
#include "dashlab/emulator/tensor_core.hpp"
#include "eigen_gemm.hpp"

namespace dashlab::bench {
namespace {

constexpr int size = 128;  ///< of all matrices: one tile of the recipes
constexpr int elements = size * size;
constexpr double giga = 1e-9;
constexpr int rounds = 15;
constexpr double slice_seconds = 0.01;

/// Numbers like those of a bell curve, the same in every run: sums of twelve uniform ones.
std::vector<float> bell_curve(int count) {
  std::vector<float> values;
  std::uint32_t state = 1;
  for (int i = 0; i < count; ++i) {
    float sum = -6.0f;
    for (int j = 0; j < 12; ++j) {
      state = state * 1664525u + 1013904223u;
      sum += static_cast<float>(state >> 8) * 0x1p-24f;
    }
    values.push_back(sum);
  }
  return values;
}

/// Matrices of one input type, packed and plain.
struct Operands {
  explicit Operands(InputType input_type) : type(input_type), bits(elements), result(elements) {
    convert(bell_curve(elements), bits, type);
    left.pack(view(), type);
    right.pack(view(), type);
  }
  [[nodiscard]] MatrixView view() const { return {bits.data(), size, 1, size, size}; }

  InputType type;
  std::vector<std::uint16_t> bits;
  std::vector<float> result;
  PackedLeft left;
  PackedRight right;
};

struct NamedGemm {
  std::string name;
  Gemm gemm;
};

/// Eigen for the units this CPU has.
std::vector<NamedGemm> eigen_variants() {
  std::vector<NamedGemm> variants;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    variants.push_back({"eigen f32 gemm AVX-512", &gemm_avx512});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    variants.push_back({"eigen f32 gemm AVX2", &gemm_avx2});
#endif
  variants.push_back({"eigen f32 gemm baseline", &gemm_baseline});
  return variants;
}

std::string product_name(InputType type, const std::string& target) {
  return std::string("product hopper-") + name_of(type) + " " + target;
}

std::string scalar_name(InputType type) {
  return std::string("scalar model hopper-") + name_of(type);
}

}  // namespace

std::vector<Row> cpu_rows() {
  const std::string unit = "G multiply-adds/s";
  const double products = giga * size * size * size;
  Operands bf16(InputType::bf16);
  Operands fp16(InputType::fp16);
  const std::vector<float> numbers = bell_curve(elements);
  std::vector<float> result(elements);
  const std::vector<std::string> targets = simd_targets();
  const std::vector<NamedGemm> eigen = eigen_variants();

  std::vector<Contender> contenders;
  for (const NamedGemm& variant : eigen) {
    contenders.push_back({variant.name, unit, products, [&, gemm = variant.gemm] {
                            gemm(numbers.data(), numbers.data(), result.data(), size);
                          }});
  }
  for (Operands* operands : {&bf16, &fp16}) {
    for (const std::string& target : targets) {
      if (target == "SCALAR") continue;  // the scalar model has a row of its own
      contenders.push_back({product_name(operands->type, target), unit, products,
                            [operands] {
                              product(operands->left, operands->right, operands->result.data(), size,
                                      Start::zero);
                            },
                            [target] { force_simd_target(target); }});
    }
    // A few elements are enough: the model takes the same time for each.
    contenders.push_back({scalar_name(operands->type), unit, giga * size * size, [operands] {
                            const std::span<const std::uint16_t> bits(operands->bits);
                            for (std::size_t n = 0; n < size; ++n) {
                              operands->result[n] = tensor_core_chain(
                                  bits.first(size), bits.subspan(n * size, size), 0.0f, operands->type);
                            }
                          }});
  }
  const std::string element_unit = "G elements/s";
  contenders.push_back(
      {"pack left", element_unit, giga * elements, [&] { bf16.left.pack(bf16.view(), bf16.type); }});
  contenders.push_back({"pack left transposed", element_unit, giga * elements,
                        [&] { bf16.left.pack(bf16.view().transposed(), bf16.type); }});
  contenders.push_back(
      {"pack right", element_unit, giga * elements, [&] { bf16.right.pack(bf16.view(), bf16.type); }});
  contenders.push_back({"ex2", element_unit, giga * elements, [&] { ex2_approx_ftz(numbers, result); }});
  contenders.push_back({"ex2 one by one", element_unit, giga * elements, [&] {
                          for (std::size_t i = 0; i < result.size(); ++i)
                            result[i] = ex2_approx_ftz(numbers[i]);
                        }});
  contenders.push_back({"std::exp2", element_unit, giga * elements, [&] {
                          for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::exp2(numbers[i]);
                        }});

  for (Contender& contender : contenders) {
    contender.clock = Clock::thread;
    if (contender.name.rfind("product", 0) != 0) contender.prepare = [] { force_simd_target(""); };
  }

  const Comparison comparison(std::move(contenders), rounds, slice_seconds);
  // The yardstick is the fastest of Eigen's variants.
  std::string best_eigen = eigen.front().name;
  for (const NamedGemm& variant : eigen) {
    if (comparison.rate(variant.name).median > comparison.rate(best_eigen).median) best_eigen = variant.name;
  }
  std::vector<Row> rows;
  for (const InputType type : {InputType::bf16, InputType::fp16}) {
    rows.push_back(comparison.row(product_name(type, targets.front()), best_eigen));
    rows.push_back(comparison.row(product_name(type, targets.front()), scalar_name(type)));
    for (std::size_t t = 1; t < targets.size(); ++t) {
      if (targets[t] != "SCALAR")
        rows.push_back(comparison.row(product_name(type, targets[t]), scalar_name(type)));
    }
    rows.push_back(comparison.row(scalar_name(type)));
  }
  for (const NamedGemm& variant : eigen) rows.push_back(comparison.row(variant.name));
  for (const char* name : {"pack left", "pack left transposed", "pack right"})
    rows.push_back(comparison.row(name));
  rows.push_back(comparison.row("ex2", "ex2 one by one"));
  rows.push_back(comparison.row("ex2", "std::exp2"));
  return rows;
}

}  // namespace dashlab::bench
