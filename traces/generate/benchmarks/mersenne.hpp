// The Mersenne twister MT19937 (Matsumoto and Nishimura, 1998), on which Python's `random` and
// numpy's legacy `np.random` are built: the same seed gives the same words here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace spillway {

class Mersenne {
 public:
  /// As `np.random.seed(seed)`.
  static Mersenne of_word(std::uint32_t seed);
  /// As `random.seed(seed)`.
  static Mersenne of_key(std::uint64_t seed);

  std::uint32_t word();
  /// Uniform in [0, 1), 53 random bits.
  double uniform();

 private:
  static constexpr std::size_t kWords = 624;

  explicit Mersenne(std::uint32_t seed);
  void refill();

  std::array<std::uint32_t, kWords> state_{};
  std::size_t next_ = kWords;
};

}  // namespace spillway
