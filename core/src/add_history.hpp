// The overlapped model's memory of an SM: compute k waits for add k-1-D.
#pragma once

#include <cstdint>
#include <vector>

namespace dashlab {

/// The ends of the last D + 1 adds.
class AddHistory {
 public:
  explicit AddHistory(int depth) : ends_(static_cast<std::size_t>(depth) + 1, 0) {}
  [[nodiscard]] std::int64_t oldest() const noexcept { return ends_[next_]; }
  void push(std::int64_t end) noexcept {
    ends_[next_] = end;
    if (++next_ == ends_.size()) next_ = 0;
  }

 private:
  std::vector<std::int64_t> ends_;
  std::size_t next_ = 0;
};

}  // namespace dashlab
