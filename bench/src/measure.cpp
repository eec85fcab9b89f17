// The clockwork: calibration, rounds, medians, CSV.
#include "dashlab/bench/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <stdexcept>

namespace dashlab::bench {
namespace {

double now(Clock clock) {
  if (clock == Clock::thread) {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds_of(const Contender& contender, int times) {
  const double begin = now(contender.clock);
  for (int i = 0; i < times; ++i) contender.run();
  return now(contender.clock) - begin;
}

/// A field of CSV; quoted where it has to be.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Comparison::Comparison(std::vector<Contender> contenders, int rounds, double slice_seconds)
    : contenders_(std::move(contenders)), rates_(contenders_.size()) {
  std::vector<int> times;
  for (const Contender& contender : contenders_) {
    contender.prepare();
    contender.run();  // warm up
    int n = 1;
    for (double taken = 0; (taken = seconds_of(contender, n)) < slice_seconds / 2; n *= 2) {
    }
    times.push_back(n);
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      contenders_[i].prepare();
      rates_[i].push_back(contenders_[i].work * times[i] / seconds_of(contenders_[i], times[i]));
    }
  }
}

std::size_t Comparison::index(const std::string& name) const {
  for (std::size_t i = 0; i < contenders_.size(); ++i) {
    if (contenders_[i].name == name) return i;
  }
  throw std::out_of_range("Comparison: no contender is called " + name);
}

Rate Comparison::rate(const std::string& name) const {
  const std::size_t i = index(name);
  const auto [low, high] = std::minmax_element(rates_[i].begin(), rates_[i].end());
  return {name, contenders_[i].unit, median(rates_[i]), *low, *high};
}

Row Comparison::row(const std::string& name) const {
  return {rate(name), {}, 0};
}

Row Comparison::row(const std::string& name, const std::string& reference) const {
  const std::vector<double>& mine = rates_[index(name)];
  const std::vector<double>& other = rates_[index(reference)];
  std::vector<double> ratios;
  for (std::size_t round = 0; round < mine.size(); ++round) ratios.push_back(mine[round] / other[round]);
  return {rate(name), reference, median(ratios)};
}

std::string to_csv(const std::vector<Row>& rows) {
  std::string csv = "name,median,low,high,unit,reference,ratio\n";
  for (const Row& row : rows) {
    const std::string ratio = row.reference.empty() ? "" : fmt::format("{:.3f}", row.ratio);
    csv += fmt::format("{},{:.4g},{:.4g},{:.4g},{},{},{}\n", field(row.rate.name), row.rate.median,
                       row.rate.low, row.rate.high, field(row.rate.unit), field(row.reference), ratio);
  }
  return csv;
}

}  // namespace dashlab::bench
