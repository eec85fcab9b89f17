// Measuring side by side: all contenders run in turn, round after round, so that a busy machine hurts them
// alike.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dashlab::bench {

/// What a rate is taken over: all that passes, or what this thread got of a core. The latter tells what one
/// core can do even on a busy machine.
enum class Clock : std::uint8_t { wall, thread };

/// Something to be timed.
struct Contender {
  std::string name;
  std::string unit;           ///< of the rate, e.g. "G multiply-adds/s"
  double work = 0;            ///< in that unit, for one call of `run`, e.g. 0.0168 for 2^24 multiply-adds
  std::function<void()> run;  ///< does the work once
  std::function<void()> prepare = [] {};  ///< called before each round, untimed
  Clock clock = Clock::wall;
};

/// Rates over all rounds.
struct Rate {
  std::string name;
  std::string unit;
  double median = 0, low = 0, high = 0;
};

/// One line of the output: a rate, beside a reference measured in the same rounds where there is one.
struct Row {
  Rate rate;
  std::string reference;  ///< name of the reference, or empty
  double ratio = 0;       ///< median of rate / reference over the rounds
};

/// Rates of several contenders, kept by round.
class Comparison {
 public:
  /// Calibrates each contender to about `slice_seconds` a round and runs `rounds` rounds of all.
  Comparison(std::vector<Contender> contenders, int rounds, double slice_seconds);

  [[nodiscard]] Rate rate(const std::string& name) const;
  /// A row without a reference.
  [[nodiscard]] Row row(const std::string& name) const;
  /// A row whose ratio is the median of the rounds' ratios. Both must be contenders (std::out_of_range
  /// otherwise).
  [[nodiscard]] Row row(const std::string& name, const std::string& reference) const;

 private:
  [[nodiscard]] std::size_t index(const std::string& name) const;
  std::vector<Contender> contenders_;
  std::vector<std::vector<double>> rates_;  ///< of each contender, one a round
};

/// The median of a list that isn't empty; the mean of the middle two if its length is even.
[[nodiscard]] double median(std::vector<double> values);

/// CSV with the columns name,median,low,high,unit,reference,ratio, the header included.
[[nodiscard]] std::string to_csv(const std::vector<Row>& rows);

}  // namespace dashlab::bench
