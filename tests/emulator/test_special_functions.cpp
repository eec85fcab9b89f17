// The special-function unit: CRCs over all significands, and the edges by name.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "../../emulator/src/special_function_tables.hpp"
#include "dashlab/emulator/float_types.hpp"
#include "dashlab/emulator/selftest.hpp"
#include "dashlab/emulator/special_functions.hpp"

using namespace dashlab;

namespace {
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float subnormal = 0x1p-130f;
const float nan_value = float_of(0xffc00001u);
}  // namespace

TEST_CASE("the special functions have an H200's CRCs over all significands") {
  for (const SelfTestResult& result : selftest_special_functions()) {
    INFO(result.name, ": ", result.first_difference);
    CHECK(result.differ == 0);
  }
}

TEST_CASE("ex2 at its edges") {
  CHECK(ex2_approx_ftz(0.0f) == 1.0f);
  CHECK(ex2_approx_ftz(-subnormal) == 1.0f);
  CHECK(ex2_approx_ftz(10.0f) == 1024.0f);
  CHECK(ex2_approx_ftz(-126.0f) == 0x1p-126f);
  CHECK(bits_of(ex2_approx_ftz(float_of(0xc2fc0001u))) == 0u);  // just below -126
  CHECK(ex2_approx_ftz(128.0f) == infinity);
  CHECK(bits_of(ex2_approx_ftz(-infinity)) == 0u);
  CHECK(bits_of(ex2_approx_ftz(nan_value)) == canonical_nan_bits);
  // |x| is cut to a multiple of 2^-23: smaller ones are 0.
  CHECK(ex2_approx_ftz(0x1p-24f) == ex2_approx_ftz(0.0f));
}

TEST_CASE("rcp, rsqrt and lg2 at their edges") {
  CHECK(rcp_approx_ftz(2.0f) == 0.5f);
  CHECK(rcp_approx_ftz(-subnormal) == -infinity);
  CHECK(bits_of(rcp_approx_ftz(-0x1.8p+127f)) == 0x80000000u);  // the result would be subnormal
  CHECK(bits_of(rcp_approx_ftz(infinity)) == 0u);
  CHECK(bits_of(rcp_approx_ftz(nan_value)) == canonical_nan_bits);
  CHECK(rsqrt_approx_ftz(4.0f) == 0.5f);
  CHECK(rsqrt_approx_ftz(0x1p-126f) == 0x1p63f);
  CHECK(rsqrt_approx_ftz(-0.0f) == -infinity);
  CHECK(bits_of(rsqrt_approx_ftz(-1.0f)) == canonical_nan_bits);
  CHECK(lg2_approx_ftz(1.0f) == 0.0f);
  CHECK(lg2_approx_ftz(8.0f) == 3.0f);
  CHECK(bits_of(lg2_approx_ftz(0.5f)) == 0xbf7ffffeu);  // powers below 1 aren't exact on this unit
  CHECK(lg2_approx_ftz(subnormal) == -infinity);
  CHECK(lg2_approx_ftz(infinity) == infinity);
  CHECK(bits_of(lg2_approx_ftz(-1.0f)) == canonical_nan_bits);
}

TEST_CASE("accurate exp2 reaches subnormal results") {
  CHECK(exp2_accurate(-130.0f) == 0x1p-130f);
  CHECK(exp2_accurate(-149.0f) == 0x1p-149f);
  CHECK(exp2_accurate(-400.0f) == 0.0f);
  CHECK(exp2_accurate(-126.0f) == 0x1p-126f);
}

TEST_CASE("powers of two are exact and the rest is within two units") {
  for (int i = -1000; i < 1000; ++i) {
    const float x = static_cast<float>(i) * 0.1237f;
    const double exact = std::exp2(static_cast<double>(x));
    CHECK(std::abs(ex2_approx_ftz(x) / exact - 1.0) < 0x1p-22);
  }
}

TEST_CASE("the compiled tables are the fitted ones") {
  std::ifstream csv(std::string(DASHLAB_TEST_DATA) + "/hopper/mufu_coefficients.csv");
  std::string line;
  REQUIRE(std::getline(csv, line));
  CHECK(line == "function,segment,c0,c1,c2");
  const auto rows_of = [](const char* name, std::span<const detail::Coefficients> table) {
    std::vector<std::string> rows;
    for (std::size_t i = 0; i < table.size(); ++i) {
      rows.push_back(std::string(name) + "," + std::to_string(i) + "," + std::to_string(table[i].c0) + "," +
                     std::to_string(table[i].c1) + "," + std::to_string(table[i].c2));
    }
    return rows;
  };
  std::vector<std::string> compiled;
  for (const auto& rows :
       {rows_of("ex2", detail::ex2_coefficients), rows_of("lg2", detail::lg2_coefficients),
        rows_of("rcp", detail::rcp_coefficients), rows_of("rsqrt", detail::rsqrt_coefficients)}) {
    compiled.insert(compiled.end(), rows.begin(), rows.end());
  }
  std::vector<std::string> fitted;
  while (std::getline(csv, line)) fitted.push_back(line);
  std::sort(compiled.begin(), compiled.end());
  std::sort(fitted.begin(), fitted.end());
  CHECK(compiled == fitted);
}
