#include "traces/generate/benchmarks/numpy_random.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "sim/det_math.hpp"

namespace spillway {

namespace {

/// numpy's SeedSequence of one whole number: spreads a seed over as many words as wanted.
class SeedWords {
 public:
  explicit SeedWords(std::uint64_t seed) {
    pool_[0] = static_cast<std::uint32_t>(seed);
    pool_[1] = static_cast<std::uint32_t>(seed >> 32);
    for (std::uint32_t& word : pool_) word = hashed(word, kFirstFactor);
    for (std::size_t from = 0; from < pool_.size(); ++from) {
      for (std::size_t to = 0; to < pool_.size(); ++to) {
        if (from != to) pool_[to] = mixed(pool_[to], hashed(pool_[from], kFirstFactor));
      }
    }
    constant_ = kSecondConstant;
  }

  /// Precondition: asked at most for one stream.
  std::uint64_t next() {
    const std::uint64_t low = hashed(pool_[taken_++ % pool_.size()], kSecondFactor);
    const std::uint64_t high = hashed(pool_[taken_++ % pool_.size()], kSecondFactor);
    return high << 32 | low;
  }

 private:
  static constexpr std::uint32_t kFirstConstant = 0x43b0d7e5U;
  static constexpr std::uint32_t kFirstFactor = 0x931e8875U;
  static constexpr std::uint32_t kSecondConstant = 0x8b51f9ddU;
  static constexpr std::uint32_t kSecondFactor = 0x58f38dedU;

  std::uint32_t hashed(std::uint32_t word, std::uint32_t factor) {
    word ^= constant_;
    constant_ *= factor;
    word *= constant_;
    return word ^ (word >> 16);
  }
  static std::uint32_t mixed(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t out = a * 0xca01f9ddU - b * 0x4973f715U;
    return out ^ (out >> 16);
  }

  std::array<std::uint32_t, 4> pool_{};
  std::uint32_t constant_ = kFirstConstant;
  std::size_t taken_ = 0;
};

}  // namespace

// ---- PCG64

NumpyGenerator::NumpyGenerator(std::uint64_t seed) {
  SeedWords words(seed);
  const auto wide = [&] {
    const Wide high = words.next();
    return high << 64 | words.next();
  };
  const Wide start = wide();
  increment_ = wide() << 1 | 1;
  bits();
  state_ += start;
  bits();
}

std::uint64_t NumpyGenerator::bits() {
  constexpr Wide kFactor = Wide{0x2360ed051fc65da4U} << 64 | 0x4385df649fccf645U;
  state_ = state_ * kFactor + increment_;
  const auto high = static_cast<std::uint64_t>(state_ >> 64);
  const auto low = static_cast<std::uint64_t>(state_);
  return std::rotr(high ^ low, static_cast<int>(high >> 58));
}

std::uint32_t NumpyGenerator::half() {
  if (spare_) {
    const std::uint32_t out = *spare_;
    spare_.reset();
    return out;
  }
  const std::uint64_t both = bits();
  spare_ = static_cast<std::uint32_t>(both >> 32);
  return static_cast<std::uint32_t>(both);
}

std::uint32_t NumpyGenerator::up_to(std::uint32_t most) {
  const std::uint32_t mask = (std::uint32_t{2} << (std::bit_width(most) - 1)) - 1;
  std::uint32_t out = half() & mask;
  while (out > most) out = half() & mask;
  return out;
}

std::uint32_t NumpyGenerator::between(std::uint32_t least, std::uint32_t most) {
  constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();
  const std::uint32_t span = most - least;
  if (span == 0) return least;  // draws nothing, as numpy
  if (span == kAll) return half();
  const std::uint64_t values = std::uint64_t{span} + 1;
  const std::uint64_t biased = (kAll - span) % values;
  std::uint64_t product = half() * values;
  while (static_cast<std::uint32_t>(product) < biased) product = half() * values;
  return least + static_cast<std::uint32_t>(product >> 32);
}

// ---- gamma

double NumpyLegacyGamma::exponential() {
  return -det::ln(1 - words_.uniform());
}

/// Marsaglia's polar method; numpy hands out the second of the pair first.
double NumpyLegacyGamma::normal() {
  if (spare_) {
    const double out = *spare_;
    spare_.reset();
    return out;
  }
  double x = 0;
  double y = 0;
  double square = 0;
  do {
    x = 2 * words_.uniform() - 1;
    y = 2 * words_.uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * det::ln(square) / square);
  spare_ = factor * x;
  return factor * y;
}

/// Ahrens and Dieter's GS (1974).
double NumpyLegacyGamma::below_one(double shape) {
  while (true) {
    const double u = words_.uniform();
    const double limit = exponential();
    if (u <= 1 - shape) {
      const double x = u > 0 ? det::pow(u, 1 / shape) : 0;
      if (x <= limit) return x;
    } else {
      const double y = -det::ln((1 - u) / shape);
      const double x = det::pow(1 - shape + shape * y, 1 / shape);
      if (x <= limit + y) return x;
    }
  }
}

/// Marsaglia and Tsang (2000) from shape 1 on.
double NumpyLegacyGamma::draw(double shape) {
  if (shape == 1) return exponential();
  if (shape < 1) return below_one(shape);
  const double b = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * b);
  while (true) {
    double x = 0;
    double v = 0;
    do {
      x = normal();
      v = 1 + c * x;
    } while (v <= 0);
    v = v * v * v;
    const double u = words_.uniform();
    if (u < 1 - 0.0331 * (x * x) * (x * x)) return b * v;
    if (det::ln(u) < 0.5 * x * x + b * (1 - v + det::ln(v))) return b * v;
  }
}

}  // namespace spillway
