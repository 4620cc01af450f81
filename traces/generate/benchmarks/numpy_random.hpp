// numpy's random numbers, as far as benchmark tools draw them: whole numbers of
// `np.random.default_rng(seed)`, gamma variates of the legacy `np.random.seed(seed)`.
// Whole numbers are numpy's; gamma variates equal them to the last bits of a double, since libm is
// not used. Upstream: numpy/numpy numpy/random (bit_generator.pyx, _pcg64.pyx, distributions.c,
// legacy-distributions.c).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "traces/generate/benchmarks/mersenne.hpp"

namespace spillway {

/// PCG XSL RR 128/64 (O'Neill, 2014), seeded through numpy's SeedSequence.
class NumpyGenerator {
 public:
  /// np.random.default_rng(seed)
  explicit NumpyGenerator(std::uint64_t seed);

  /// One of integers(least, most + 1), where the range has at most 2^32 values: Lemire's method.
  std::uint32_t between(std::uint32_t least, std::uint32_t most);
  /// shuffle(items) of a list: places by masked draws that are too large again.
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i-- > 1;) {
      std::swap(items[i], items[up_to(static_cast<std::uint32_t>(i))]);
    }
  }

 private:
  __extension__ using Wide = unsigned __int128;

  std::uint64_t bits();
  std::uint32_t up_to(std::uint32_t most);
  std::uint32_t half();

  Wide state_ = 0;
  Wide increment_ = 0;
  std::optional<std::uint32_t> spare_;  ///< the upper half of the last draw
};

/// np.random.gamma after np.random.seed(seed).
class NumpyLegacyGamma {
 public:
  explicit NumpyLegacyGamma(std::uint32_t seed) : words_(Mersenne::of_word(seed)) {}
  /// Of scale 1. Precondition: shape > 0.
  double draw(double shape);

 private:
  double exponential();
  double normal();
  double below_one(double shape);

  Mersenne words_;
  std::optional<double> spare_;  ///< the second of a pair of normal draws
};

}  // namespace spillway
