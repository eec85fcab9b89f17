#include "dashlab/emulator/inputs.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>

#include "dashlab/core/error.hpp"
#include "dashlab/emulator/seeded_values.hpp"

namespace dashlab {

namespace {

Tensor fill(Shape shape, DType dtype, std::uint64_t seed, seeded::Stream stream, const RunControl& control) {
  Tensor tensor(dtype, std::move(shape));
  constexpr std::uint64_t block = 1 << 16;
  const auto elements = static_cast<std::uint64_t>(count(tensor.shape()));
  RunControl quiet = control;
  quiet.progress = nullptr;
  parallel_for((elements + block - 1) / block, quiet, [&](std::uint64_t b) {
    for (std::uint64_t i = b * block; i < std::min(elements, (b + 1) * block); ++i) {
      const std::int32_t n = seeded::normal_q18(seed, stream, i);
      switch (dtype) {
        case DType::bf16:
          tensor.u16()[i] = seeded::to_bf16(n);
          break;
        case DType::f16:
          tensor.u16()[i] = seeded::to_fp16(n);
          break;
        case DType::f32:
          tensor.f32()[i] = seeded::to_f32(n);
          break;
      }
    }
  });
  return tensor;
}

constexpr std::array<std::pair<std::string_view, DType>, 3> profiles{
    {{"hopper-bf16", DType::bf16}, {"hopper-fp16", DType::f16}, {"ieee-fp32", DType::f32}}};

}  // namespace

SeededInputs make_inputs(const Problem& problem, DType dtype, std::uint64_t seed, const RunControl& control) {
  const Shape q{problem.batch, problem.seqlen_q, problem.heads, problem.head_dim};
  const Shape k{problem.batch, problem.seqlen_k, problem.kv_heads, problem.head_dim};
  return {fill(q, dtype, seed, seeded::Stream::q, control), fill(k, dtype, seed, seeded::Stream::k, control),
          fill(k, dtype, seed, seeded::Stream::v, control),
          fill(q, dtype, seed, seeded::Stream::dout, control)};
}

DType profile_dtype(std::string_view profile) {
  for (const auto& [name, dtype] : profiles)
    if (name == profile) return dtype;
  throw BadInput(fmt::format("--profile '{}': unknown; use hopper-bf16, hopper-fp16 or ieee-fp32",
                             profile.substr(0, 40)));
}

std::string_view profile_name(DType dtype) {
  for (const auto& [name, type] : profiles)
    if (type == dtype) return name;
  return "";
}

std::string sha256(std::span<const std::byte> bytes) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  if (context == nullptr || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1 ||
      EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) != 1 ||
      EVP_DigestFinal_ex(context.get(), digest.data(), &length) != 1)
    throw EnvironmentError("libcrypto cannot compute SHA-256");
  std::string text;
  for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace dashlab
