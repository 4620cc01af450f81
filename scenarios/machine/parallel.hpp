// A deterministic parallel map: work items are taken in order by a few threads, results land by
// index, so that outcomes do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace spillway {

/// body(i) for each i in [0, count), begun by `helpers` threads while the caller does something
/// else, and finished with its help.
template <class Body>
class ParallelFor {
 public:
  ParallelFor(std::size_t count, std::size_t helpers, Body body)
      : count_(count), failed_at_(count), body_(std::move(body)) {
    pool_.reserve(helpers);
    try {
      while (pool_.size() < helpers) pool_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // A pod may have no more threads to give: those that are there do all of it.
    }
  }
  /// What has not begun by then is left out.
  ~ParallelFor() {
    next_ = count_;
    join();
  }
  ParallelFor(const ParallelFor&) = delete;
  ParallelFor& operator=(const ParallelFor&) = delete;

  /// The first exception, by index, is rethrown once all threads have stopped.
  void finish() {
    work();
    join();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < count_; i = next_++) {
      try {
        body_(i);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (i < failed_at_) {
          failed_at_ = i;
          failure_ = std::current_exception();
        }
        next_ = count_;
      }
    }
  }
  void join() {
    for (std::thread& thread : pool_) thread.join();
    pool_.clear();
  }

  std::size_t count_;
  std::size_t failed_at_;
  Body body_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::vector<std::thread> pool_;
};

/// Calls body(i) for each i in [0, count) on up to `threads` threads. The first exception, by
/// index, is rethrown once all threads have stopped.
template <class Body>
void parallel_for(std::size_t count, unsigned threads, Body body) {
  const std::size_t helpers =
      threads > 1 && count > 1 ? std::min<std::size_t>(threads, count) - 1 : 0;
  ParallelFor<Body> work(count, helpers, std::move(body));
  work.finish();
}

/// body(t) for each t in [0, count), all at the same time, the first one here. Throws
/// std::system_error, with none begun, where the system has not so many threads to give.
template <class Body>
void run_together(std::size_t count, const Body& body) {
  enum : int { kWait, kGo, kGiveUp };
  std::atomic<int> signal{kWait};
  std::vector<std::thread> others;
  others.reserve(count);
  const auto release = [&](int how) {
    signal = how;
    signal.notify_all();
  };
  const auto join = [&] {
    for (std::thread& thread : others) thread.join();
  };
  try {
    for (std::size_t t = 1; t < count; ++t) {
      others.emplace_back([&signal, &body, t] {
        signal.wait(kWait);
        if (signal == kGo) body(t);
      });
    }
  } catch (...) {
    release(kGiveUp);
    join();
    throw;
  }
  release(kGo);
  body(std::size_t{0});
  join();
}

}  // namespace spillway
