// Local shuffles: every value is used once, near its place, so that what is drawn differs from seed
// to seed and yet has the distribution of what was recorded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/rng.hpp"

namespace spillway {

/// 0..n-1, each moved by a few places, up to `share` of n.
inline std::vector<std::uint32_t> shuffled_nearby(std::size_t n, double share, Stream& stream) {
  const double reach = 1 + share * static_cast<double>(n);
  std::vector<std::pair<double, std::uint32_t>> keyed;
  keyed.reserve(n);
  for (std::uint32_t i = 0; i < n; ++i) keyed.emplace_back(i + reach * stream.uniform(), i);
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::uint32_t> out;
  out.reserve(n);
  for (const auto& [key, i] : keyed) out.push_back(i);
  return out;
}

/// Members of a class, each of which can stand in for one of about the same size.
class Exchange {
 public:
  /// `size_of(member)` for the members among 0..count-1, those with a size above 0.
  template <class SizeOf>
  Exchange(std::size_t count, SizeOf size_of) : stand_in_(count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto size = static_cast<double>(size_of(i));
      if (size > 0) by_size_.emplace_back(size, i);
    }
    std::sort(by_size_.begin(), by_size_.end());
  }
  /// Draws who stands in for whom.
  void shuffle(Stream& stream) {
    std::vector<std::pair<double, std::uint32_t>> blurred;
    blurred.reserve(by_size_.size());
    for (const auto& [size, i] : by_size_) {
      blurred.emplace_back(size * (1 + kBlur * stream.uniform()), i);
    }
    std::sort(blurred.begin(), blurred.end());
    for (std::size_t i = 0; i < blurred.size(); ++i) {
      stand_in_[by_size_[i].second] = blurred[i].second;
    }
  }
  /// Precondition: `member` is one, and shuffle() has been called.
  std::uint32_t stand_in(std::uint32_t member) const { return stand_in_[member]; }

 private:
  static constexpr double kBlur = 0.1;  ///< sizes that differ by less may change places

  std::vector<std::pair<double, std::uint32_t>> by_size_;
  std::vector<std::uint32_t> stand_in_;
};

}  // namespace spillway
