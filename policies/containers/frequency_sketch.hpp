// How often ids were used lately, about: a count-min sketch of 4-bit counters that are halved as
// they age (G. Cormode and S. Muthukrishnan, J. Algorithms 55(1), 2005; ageing: G. Einziger,
// R. Friedman and B. Manes, "TinyLFU", ACM Transactions on Storage 13(4), 2017).
//
// The four counters of an id lie in one line of 64 bytes, a quarter each, and eight ids that follow
// each other share a line: chains name neighbours, so that a cache line serves several look-ups.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/rng.hpp"

namespace spillway {

class FrequencySketch {
 public:
  static constexpr std::uint32_t kMost = 15;

  /// Eight bytes for each of `ids` that may be in use at a time. All counters are halved after
  /// `sample` uses.
  FrequencySketch(std::uint64_t ids, std::uint64_t sample) : sample_(sample) {
    lines_.resize(lines_for(ids));
  }
  /// Makes room for more ids; what is known of each stays.
  void grow(std::uint64_t ids) {
    const std::size_t wanted = lines_for(ids);
    lines_.reserve(wanted);
    // Where one more bit of the hash decides, both halves begin alike.
    while (lines_.size() < wanted) {
      const std::size_t size = lines_.size();
      lines_.resize(2 * size);
      std::copy_n(lines_.begin(), size, lines_.begin() + static_cast<std::ptrdiff_t>(size));
    }
  }

  std::uint32_t count(std::uint32_t id) const {
    const Hash hash = hash_of(id);
    const Line& line = lines_[hash.line];
    std::uint64_t least = kMost;
    for (std::uint32_t row = 0; row < 4; ++row) {
      const Place at = hash.place(row);
      least = std::min(least, line.words[at.word] >> at.shift & kMost);
    }
    return static_cast<std::uint32_t>(least);
  }
  void use(std::uint32_t id) {
    const Hash hash = hash_of(id);
    Line& line = lines_[hash.line];
    std::uint64_t counted = 0;
    for (std::uint32_t row = 0; row < 4; ++row) {
      const Place at = hash.place(row);
      std::uint64_t& word = line.words[at.word];
      const std::uint64_t below = (word >> at.shift & kMost) != kMost ? 1 : 0;
      word += below << at.shift;
      counted |= below;
    }
    uses_ += counted;
    if (uses_ >= sample_) age();
  }

 private:
  struct alignas(64) Line {
    std::uint64_t words[8] = {};
  };
  struct Place {
    std::uint32_t word;
    std::uint32_t shift;
  };
  struct Hash {
    std::size_t line;
    std::uint64_t bits;  ///< five of the highest twenty for each row

    /// A row takes two words of 16 counters each.
    Place place(std::uint32_t row) const {
      const auto counter = static_cast<std::uint32_t>(bits >> (44 + 5 * row)) & 31;
      return {2 * row + (counter >> 4), 4 * (counter & 15)};
    }
  };
  static constexpr std::uint32_t kGroupBits = 3;
  static constexpr std::uint64_t kGolden = 0x9e37'79b9'7f4a'7c15;

  static std::size_t lines_for(std::uint64_t ids) {
    return std::bit_ceil((std::max<std::uint64_t>(ids, 1) + 7) / 8);
  }
  Hash hash_of(std::uint32_t id) const {
    const std::uint64_t group = mix64((id >> kGroupBits) + kGolden);
    return {group & (lines_.size() - 1), (group + id) * kGolden};
  }

  void age() {
    for (Line& line : lines_) {
      for (std::uint64_t& word : line.words) word = word >> 1 & 0x7777'7777'7777'7777;
    }
    uses_ /= 2;
  }

  std::vector<Line> lines_;
  std::uint64_t sample_;
  std::uint64_t uses_ = 0;
};

}  // namespace spillway
