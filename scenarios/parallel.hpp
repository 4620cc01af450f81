// A deterministic parallel map: work items are taken in order by a few threads, results land by
// index, so that outcomes do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace spillway {

/// Calls body(i) for each i in [0, count) on up to `threads` threads. The first exception, by
/// index, is rethrown once all threads have stopped.
template <class Body>
void parallel_for(std::size_t count, unsigned threads, Body body) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t failed_at = count;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < failed_at) {
          failed_at = i;
          failure = std::current_exception();
        }
        next = count;
      }
    }
  };
  const std::size_t helpers =
      threads > 1 && count > 1 ? std::min<std::size_t>(threads, count) - 1 : 0;
  std::vector<std::thread> pool;
  for (std::size_t i = 0; i < helpers; ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace spillway
