// Python's `random.Random`, as far as benchmark tools draw from it: equal seeds give equal draws.
// Normal and exponential draws equal Python's to the last bits of a double, since libm is not used.
// Upstream: python/cpython Lib/random.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "traces/generate/benchmarks/mersenne.hpp"

namespace spillway {

class PythonRandom {
 public:
  /// random.Random(seed)
  explicit PythonRandom(std::uint64_t seed) : words_(Mersenne::of_key(seed)) {}

  /// random()
  double uniform() { return words_.uniform(); }
  /// _randbelow(n), the index that choice() takes of n items. Precondition: n > 0.
  std::uint32_t below(std::uint32_t n);
  /// randint(least, most)
  std::uint32_t between(std::uint32_t least, std::uint32_t most) {
    return least + below(most - least + 1);
  }
  /// gauss(mean, deviation)
  double gauss(double mean, double deviation);
  /// expovariate(rate)
  double exponential(double rate);
  /// gammavariate(shape, 1). Precondition: shape > 0.
  double gamma(double shape);
  /// shuffle(items)
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i-- > 1;) {
      std::swap(items[i], items[below(static_cast<std::uint32_t>(i + 1))]);
    }
  }

 private:
  Mersenne words_;
  std::optional<double> spare_;  ///< the second of a pair of normal draws
};

/// round(value) of Python: a half goes to the even number.
std::int64_t python_round(double value);

}  // namespace spillway
