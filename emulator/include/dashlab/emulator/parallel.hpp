// Work on all cores, with one rule for the end: the first exception of any worker reaches the caller, after
// all have stopped.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>

namespace dashlab {

/// Thrown when RunControl::stop was set; no results exist then.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// How a long run is steered. Results never depend on any of it.
struct RunControl {
  int threads = 0;                          ///< 0: all cores
  const std::atomic<bool>* stop = nullptr;  ///< polled between tiles
  std::function<void(std::uint64_t done, std::uint64_t total)>
      progress;  ///< called now and then, never twice at once
};

/// The number of workers that `control` asks for, at least 1.
int worker_count(const RunControl& control);

/// Runs `work(worker)` on the calling thread as worker 0 and once on each of `workers` - 1 others, and waits
/// for all. Where the machine refuses threads, those that it gives must do all the work.
void run_workers(int workers, const std::function<void(int)>& work);

/// Runs `body(i)` for i in 0..n-1 in any order on the threads of `control`; reports progress and obeys stop.
void parallel_for(std::uint64_t n, const RunControl& control, const std::function<void(std::uint64_t)>& body);

}  // namespace dashlab
