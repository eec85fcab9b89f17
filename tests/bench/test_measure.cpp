// The clockwork of the benchmarks: medians, ratios, CSV.
#include <doctest/doctest.h>

#include <stdexcept>

#include "dashlab/bench/measure.hpp"

using namespace dashlab::bench;

TEST_CASE("the median is the middle, or the mean of the middle two") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 2.5);
}

TEST_CASE("CSV has the contract's columns and quotes what needs it") {
  Row plain{{"a", "G/s", 2, 1, 4}, "", 0};
  Row compared{{"b, \"quick\"", "G/s", 2.5, 1, 4}, "a", 1.25};
  CHECK(to_csv({plain, compared}) ==
        "name,median,low,high,unit,reference,ratio\n"
        "a,2,1,4,G/s,,\n"
        "\"b, \"\"quick\"\"\",2.5,1,4,G/s,a,1.250\n");
}

TEST_CASE("contenders run in turn and know each other by name") {
  int first = 0;
  int second = 0;
  constexpr int rounds = 3;
  const Comparison comparison(
      {{"first", "runs/s", 1, [&] { ++first; }}, {"second", "runs/s", 1, [&] { ++second; }}}, rounds, 1e-5);
  CHECK(first >= rounds + 1);
  CHECK(second >= rounds + 1);
  const Row row = comparison.row("first", "second");
  CHECK(row.rate.low <= row.rate.median);
  CHECK(row.rate.median <= row.rate.high);
  CHECK(row.ratio > 0);
  CHECK_THROWS_AS(static_cast<void>(comparison.row("third")), std::out_of_range);
}
