// Work done by the first thread that needs it. Unlike std::call_once it may throw when memory is short: that
// one lets exceptions pass through the C library, which then has to load a library and aborts if it cannot.
#pragma once

#include <atomic>
#include <mutex>

namespace dashlab {

class Once {
 public:
  /// Returns when `work` has been done, by this call or another; after an exception the next call tries
  /// again.
  template <typename Work>
  void call(const Work& work) {
    if (done_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    if (done_.load(std::memory_order_relaxed)) return;
    work();
    done_.store(true, std::memory_order_release);
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> done_{false};
};

}  // namespace dashlab
