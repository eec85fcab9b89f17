// Workers on OpenMP; on plain threads where OpenMP is missing, switched off (ThreadSanitizer cannot see into
// its runtime), or would end the program because the machine refuses it a thread.
#include "dashlab/emulator/parallel.hpp"

#include <algorithm>
#include <exception>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace dashlab {

namespace {

/// Keeps the first exception of several workers.
class FirstFailure {
 public:
  void guard(const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
};

/// Threads with the numbers 1..wanted that do `work`; fewer where the machine refuses one.
std::vector<std::jthread> start_threads(int wanted, const std::function<void(int)>& work) {
  std::vector<std::jthread> threads;
  try {
    for (int number = 1; number <= wanted; ++number) threads.emplace_back(work, number);
  } catch (const std::exception&) {  // no thread, or no memory for one: those that run do its share
  }
  return threads;
}

#if defined(_OPENMP)
/// Whether so many threads can run beside this one.
bool can_start(int wanted) {
  std::latch seen(1);
  const auto threads = start_threads(wanted, [&](int) { seen.wait(); });
  const bool all = threads.size() == static_cast<std::size_t>(wanted);
  seen.count_down();
  return all;
}
#endif

}  // namespace

int worker_count(const RunControl& control) {
  if (control.threads > 0) return control.threads;
#if defined(_OPENMP)
  return std::max(1, omp_get_max_threads());
#else
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
#endif
}

void run_workers(int workers, const std::function<void(int)>& work) {
  if (workers <= 1) {
    work(0);
    return;
  }
  FirstFailure failure;
  const auto guarded = [&](int worker) { failure.guard([&] { work(worker); }); };
#if defined(_OPENMP)
  // Some to spare: threads of the trial may still be leaving, and others on this machine start threads too.
  // More workers than processors gain nothing from OpenMP's pool, and are those that a machine refuses.
  constexpr int spare = 4;
  if (workers <= omp_get_num_procs() && can_start(workers - 1 + spare)) {
#pragma omp parallel num_threads(workers)
    guarded(omp_get_thread_num());
    failure.rethrow();
    return;
  }
#endif
  {
    const auto others = start_threads(workers - 1, guarded);
    guarded(0);
  }
  failure.rethrow();
}

void parallel_for(std::uint64_t n, const RunControl& control,
                  const std::function<void(std::uint64_t)>& body) {
  if (n == 0) return;
  const auto workers =
      static_cast<int>(std::min<std::uint64_t>(n, static_cast<std::uint64_t>(worker_count(control))));
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex progress_mutex;
  std::uint64_t done = 0;
  run_workers(workers, [&](int) {
    try {
      for (std::uint64_t i = next.fetch_add(1); i < n && !failed.load(); i = next.fetch_add(1)) {
        if (control.stop != nullptr && control.stop->load()) throw Interrupted();
        body(i);
        if (control.progress) {
          const std::lock_guard lock(progress_mutex);
          control.progress(++done, n);
        }
      }
    } catch (...) {
      failed.store(true);
      throw;
    }
  });
}

}  // namespace dashlab
