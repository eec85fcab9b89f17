// Tensors, safetensors files, comparisons, seeded values.
#include <doctest/doctest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "dashlab/core/error.hpp"
#include "dashlab/core/whole_file.hpp"
#include "dashlab/emulator/compare.hpp"
#include "dashlab/emulator/float_types.hpp"
#include "dashlab/emulator/inputs.hpp"
#include "dashlab/emulator/portable_math.hpp"
#include "dashlab/emulator/safetensors.hpp"
#include "dashlab/emulator/seeded_values.hpp"

using namespace dashlab;

namespace {

/// A file that vanishes with the test.
class TemporaryFile {
 public:
  TemporaryFile()
      : path_(std::filesystem::temp_directory_path() / ("dashlab-test-" + std::to_string(::getpid()))) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

  /// A header as given, its length in front, and so many bytes of data.
  void write(const std::string& header, std::size_t data_bytes, std::uint64_t claimed_length = 0) const {
    std::ofstream out(path_, std::ios::binary);
    const std::uint64_t length = claimed_length == 0 ? header.size() : claimed_length;
    for (int i = 0; i < 8; ++i) out.put(static_cast<char>(length >> (8 * i) & 255));
    out << header << std::string(data_bytes, '\0');
  }

 private:
  std::filesystem::path path_;
};

std::string message_of(const TemporaryFile& file) {
  try {
    const SafetensorsFile opened(file.path());
  } catch (const BadInput& error) {
    return error.what();
  }
  return "accepted";
}

std::string ten_megabytes_of(char c) {
  std::string text;
  text.resize(10'000'000, c);
  return text;
}

bool one_line_about(const std::string& message, const std::string& word) {
  return message.find('\n') == std::string::npos && message.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("a written file is read back in every byte, metadata included") {
  const TemporaryFile file;
  Tensor a(DType::bf16, {2, 3});
  Tensor b(DType::f32, {5});
  for (int i = 0; i < 6; ++i) a.u16()[i] = static_cast<std::uint16_t>(1000 * i + 7);
  for (int i = 0; i < 5; ++i) b.f32()[i] = 1.5F * static_cast<float>(i);
  write_safetensors(file.path(), {{"a", a.view()}, {"b", b.view()}}, {{"mask", "causal"}, {"quote", "\"\n"}});
  const SafetensorsFile read(file.path());
  CHECK(read.names() == std::vector<std::string>{"a", "b"});
  CHECK(read.metadata("quote") == "\"\n");
  CHECK_FALSE(read.metadata("other"));
  CHECK(compare("a", a.view(), read.tensor("a")).differ == 0);
  CHECK(compare("b", b.view(), read.tensor("b")).differ == 0);
  CHECK_THROWS_AS((void)read.tensor("c"), BadInput);
}

TEST_CASE("a file that cannot be written leaves nothing behind") {
  const Tensor a(DType::f32, {1});
  CHECK_THROWS_AS(write_safetensors("/nonexistent/folder/x.safetensors", {{"a", a.view()}}, {}), BadInput);
}

TEST_CASE("malformed safetensors files are refused with one line that names the fault") {
  const TemporaryFile file;
  const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  file.write(entry("F32", "[2]", "[0,8]"), 8);
  CHECK(message_of(file) == "accepted");
  file.write(entry("F32", "[2]", "[0,8]"), 7);
  CHECK(one_line_about(message_of(file), "truncated"));
  file.write(entry("F32", "[2]", "[0,8]"), 9);
  CHECK(one_line_about(message_of(file), "follow the last tensor"));
  file.write(entry("F32", "[3]", "[0,8]"), 8);
  CHECK(one_line_about(message_of(file), "needs 12 bytes"));
  file.write(entry("F32", "[2]", "[8,0]"), 8);
  CHECK(one_line_about(message_of(file), "outside"));
  file.write(entry("F33", "[2]", "[0,8]"), 8);
  CHECK(one_line_about(message_of(file), "unknown dtype"));
  file.write(entry("F32", "[4294967296,4294967296,4294967296]", "[0,8]"), 8);
  CHECK(one_line_about(message_of(file), "overflows"));
  file.write(entry("F32", "[-2]", "[0,8]"), 8);
  CHECK(one_line_about(message_of(file), "negative"));
  file.write(entry("F32", "[2]", "[0,8]"), 8, 1'000'000);
  CHECK(one_line_about(message_of(file), "claims"));
  file.write(
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
      6);
  CHECK(one_line_about(message_of(file), "overlap"));
  file.write(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})",
      6);
  CHECK(one_line_about(message_of(file), "hole"));
  file.write(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
      2);
  CHECK(one_line_about(message_of(file), "twice"));
  file.write(R"({"__metadata__":{"k":"v","k":"w"}})", 0);
  CHECK(one_line_about(message_of(file), "twice"));
  file.write(R"({"__metadata__":{"k":1}})", 0);
  CHECK(one_line_about(message_of(file), "number"));
  file.write(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2],"extra":1}})", 2);
  CHECK(one_line_about(message_of(file), "unknown key"));
  file.write(R"({"a":)", 0);
  CHECK(one_line_about(message_of(file), "malformed"));
  file.write(ten_megabytes_of('['), 0);
  CHECK(one_line_about(message_of(file), "list"));
  file.write(R"({"a":)" + ten_megabytes_of('{'), 0);
  CHECK(message_of(file) != "accepted");
  std::ofstream(file.path(), std::ios::binary | std::ios::trunc) << "abc";
  CHECK(one_line_about(message_of(file), "too few"));
}

TEST_CASE(
    "equality is equality of bytes: -0 is not +0, and distances are counted in units in the last place") {
  Tensor a(DType::bf16, {5});
  Tensor b(DType::bf16, {5});
  const std::uint16_t left[] = {0x0000, 0x3f80, 0x3f80, 0x7fc0, 0x0001};
  const std::uint16_t right[] = {0x8000, 0x3f81, 0x3f88, 0x7fc1, 0x8001};
  for (int i = 0; i < 5; ++i) a.u16()[i] = left[i], b.u16()[i] = right[i];
  const Comparison c = compare("x", a.view(), b.view());
  CHECK(c.differ == 5);
  CHECK(c.first == 0);
  CHECK(c.nan_differ == 1);
  CHECK(c.ulp_histogram[0] == 1);
  CHECK(c.ulp_histogram[1] == 1);
  CHECK(c.ulp_histogram[2] == 1);
  CHECK(c.ulp_histogram[4] == 1);
  CHECK(c.largest_ulp == 8);
}

TEST_CASE("Philox gives the words of its authors' known answers") {
  const auto zero = seeded::philox({{0, 0, 0, 0}}, 0);
  CHECK(zero.w[0] == 0x6627e8d5u);
  CHECK(zero.w[3] == 0x9b00dbd8u);
  const std::uint32_t ones = 0xffffffffu;
  const auto full = seeded::philox({{ones, ones, ones, ones}}, ~std::uint64_t{0});
  CHECK(full.w[0] == 0x408f276du);
  CHECK(full.w[3] == 0x6d5451fdu);
}

TEST_CASE("seeded values round to bf16 and fp16 as their f32 values do") {
  std::uint32_t differ = 0;
  for (std::int32_t n = -1600000; n < 1600000; ++n) {
    const float x = seeded::to_f32(n);
    differ += seeded::to_bf16(n) != bf16_from_float(x);
    differ += seeded::to_fp16(n) != fp16_from_float(x);
  }
  CHECK(differ == 0);
}

TEST_CASE("SHA-256 gives the digests of FIPS 180") {
  const std::string abc = "abc";
  CHECK(sha256(std::as_bytes(std::span(abc))) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("portable exp2 and ln stay within two units in the last place") {
  double worst_exp2 = 0;
  for (int i = -126 * 4096; i < 128 * 4096; i += 7) {
    const float x = static_cast<float>(i) / 4096.0F;
    const double exact = std::exp2(static_cast<double>(x));
    worst_exp2 = std::max(worst_exp2, std::abs(static_cast<double>(portable::exp2(x)) - exact) / exact);
  }
  CHECK(worst_exp2 < 0x1p-23);
  CHECK(portable::exp2(0.0F) == 1.0F);
  CHECK(portable::exp2(-126.5F) == 0.0F);
  CHECK(portable::exp2(-INFINITY) == 0.0F);
  CHECK(portable::exp2(128.0F) == INFINITY);
  CHECK(std::bit_cast<std::uint32_t>(portable::exp2(NAN)) == 0x7fffffffu);
  double worst_ln = 0;
  for (float x = 0x1p-120F; x < 0x1p120F; x *= 1.0371F) {
    const double exact = std::log(static_cast<double>(x));
    worst_ln = std::max(
        worst_ln, std::abs(static_cast<double>(portable::ln(x)) - exact) / std::max(std::abs(exact), 0.5));
  }
  CHECK(worst_ln < 0x1p-22);
  CHECK(portable::ln(1.0F) == 0.0F);
}
