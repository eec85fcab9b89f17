// Seeded choices that are the same on every platform: the standard fixes mt19937_64, but not its
// distributions.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace dashlab {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// 0 .. bound - 1, for bound below 2^32 (the bias is below bound / 2^32).
  std::uint32_t below(std::size_t bound) {
    return static_cast<std::uint32_t>(((engine_() >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
  }
  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace dashlab
