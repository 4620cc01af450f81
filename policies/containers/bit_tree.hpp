// A set of dense numbers that knows its highest: a bit each, and above every 64 words one whose
// bits say which of them are not empty. A change mostly ends in the lowest level, where neighbours
// share a word.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace spillway {

class BitTree {
 public:
  /// An empty set of numbers below `numbers`.
  explicit BitTree(std::uint64_t numbers) {
    std::uint64_t words = numbers;
    do {
      words = (words + 63) / 64;
      levels_.emplace_back(words == 0 ? 1 : words, 0);
    } while (words > 1);
  }

  bool empty() const { return levels_.back()[0] == 0; }
  bool contains(std::uint32_t number) const {
    return (levels_[0][number >> 6] >> (number & 63) & 1) != 0;
  }
  /// Precondition: not empty.
  std::uint32_t highest() const { return last_ << 6 | top(levels_[0][last_]); }

  void insert(std::uint32_t number) {
    last_ = std::max(last_, number >> 6);
    for (std::vector<std::uint64_t>& level : levels_) {
      std::uint64_t& word = level[number >> 6];
      const std::uint64_t before = word;
      word |= bit(number);
      if (before != 0) return;
      number >>= 6;
    }
  }
  void erase(std::uint32_t number) { clear(number >> 6, bit(number)); }
  /// Erases what lies in [begin, end).
  void erase(std::uint32_t begin, std::uint32_t end) {
    for (std::uint64_t at = begin; at < end; at = (at | 63) + 1) {
      const auto word = static_cast<std::uint32_t>(at >> 6);
      std::uint64_t mask = ~std::uint64_t{0} << (at & 63);
      if (end >> 6 == word) mask &= bit(end) - 1;
      if ((levels_[0][word] & mask) != 0) clear(word, mask);
    }
  }

 private:
  static std::uint32_t top(std::uint64_t word) {
    return 63 - static_cast<std::uint32_t>(std::countl_zero(word));
  }
  static std::uint64_t bit(std::uint32_t number) { return std::uint64_t{1} << (number & 63); }

  /// Takes the bits of `mask` out of a word of the lowest level.
  void clear(std::uint32_t word, std::uint64_t mask) {
    const bool was_last = word == last_;
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      levels_[level][word] &= ~mask;
      if (levels_[level][word] != 0) {
        if (level > 0 && was_last) find_last(level, word);
        return;
      }
      mask = bit(word);
      word >>= 6;
    }
    last_ = 0;
  }
  /// From a word above, none of whose right neighbours holds anything, down to the lowest level.
  void find_last(std::size_t level, std::uint32_t word) {
    for (; level > 0; --level) word = word << 6 | top(levels_[level][word]);
    last_ = word;
  }

  std::vector<std::vector<std::uint64_t>> levels_;  ///< [0]: the numbers themselves
  std::uint32_t last_ = 0;                          ///< the word of the highest number
};

}  // namespace spillway
