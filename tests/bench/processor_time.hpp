// How long work takes of this thread's processor time: a busy machine stretches the wall clock.
#pragma once

#include <time.h>

#include <algorithm>
#include <vector>

namespace spillway::bench {

inline double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// The median of `times` runs, in seconds of processor time.
template <class Work>
double median_s(int times, Work work) {
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) {
    const double begin = cpu_s();
    work();
    seconds.push_back(cpu_s() - begin);
  }
  const auto middle = seconds.begin() + times / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

}  // namespace spillway::bench
