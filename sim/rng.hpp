// Seeded random streams with distributions that are equal on every machine.
//
// A stream is keyed by (seed, purpose, id): draws for request 7's length never depend on how many
// draws request 6 made, so two runs that differ in one policy see the same workload (common random
// numbers). The generator is xoshiro256++ (Blackman and Vigna, prng.di.unimi.it, public domain),
// seeded through splitmix64. The standard library's distributions are implementation-defined and
// are not used.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace spillway {

class Stream {
 public:
  Stream(std::uint64_t seed, std::string_view purpose, std::uint64_t id = 0);

  std::uint64_t bits();
  /// Uniform in [0, 1), 53 random bits.
  double uniform();
  /// Uniform in [0, n), unbiased (Lemire 2019). Precondition: n > 0.
  std::uint64_t below(std::uint64_t n);
  bool chance(double probability) { return uniform() < probability; }
  double exponential(double mean);
  double normal();  ///< mean 0, standard deviation 1 (Marsaglia's polar method)
  /// A lognormal with the given median and sigma of its logarithm.
  double lognormal(double median, double sigma);
  /// Trials up to and including the first success, at least 1. Precondition: 0 < p <= 1.
  std::uint64_t geometric(double success_probability);

 private:
  std::array<std::uint64_t, 4> state_{};
};

/// Rank in [0, n) with probability proportional to 1 / (rank+1)^exponent.
class Zipf {
 public:
  Zipf(std::uint32_t n, double exponent);
  std::uint32_t draw(Stream& stream) const;

 private:
  std::vector<double> cumulative_;
};

/// splitmix64's finaliser: a bijection that spreads entropy over all 64 bits.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace spillway
