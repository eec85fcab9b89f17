// Workers on OpenMP; on plain threads where OpenMP is missing or switched off (ThreadSanitizer cannot see
// into its runtime).
#include "dashlab/emulator/parallel.hpp"

#include <algorithm>
#include <exception>
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
  FirstFailure failure;
  if (workers <= 1) {
    work(0);
    return;
  }
#if defined(_OPENMP)
#pragma omp parallel num_threads(workers)
  {
    failure.guard([&] { work(omp_get_thread_num()); });
  }
#else
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(workers));
  for (int worker = 0; worker < workers; ++worker)
    threads.emplace_back([&, worker] { failure.guard([&] { work(worker); }); });
  threads.clear();
#endif
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
