// What one-pass LRU curves are made of: the LRU stack as a line of touches, and counts of stack
// distances.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/error.hpp"

namespace spillway {

/// The LRU stack as a line of slots, one a touch: bit set where the touch is its block's last.
/// Fenwick sums over groups of words count the set bits above a slot.
class TouchLine {
 public:
  /// Slots are below the number given.
  explicit TouchLine(std::uint64_t slots) { resize(slots); }

  std::uint64_t slots() const { return words_.size() * 64; }
  std::uint64_t live() const { return live_; }

  std::uint64_t above(std::uint64_t slot) const {
    std::uint64_t at_or_below = 0;
    for (std::uint64_t i = slot / kGroupSlots; i > 0; i &= i - 1) at_or_below += sums_[i];
    const std::uint64_t word = slot / 64;
    for (std::uint64_t w = word / kGroupWords * kGroupWords; w < word; ++w) {
      at_or_below += count(words_[w]);
    }
    return live_ - at_or_below - count(words_[word] & bits(0, slot % 64 + 1));
  }

  /// Sets or clears the slots [begin, end), some of which may be so already.
  void assign(std::uint64_t begin, std::uint64_t end, bool set) {
    while (begin < end) {
      const std::uint64_t group = begin / kGroupSlots;
      const std::uint64_t group_end = std::min(end, (group + 1) * kGroupSlots);
      std::uint64_t changed = 0;
      while (begin < group_end) {
        const std::uint64_t word_end = std::min(group_end, (begin / 64 + 1) * 64);
        std::uint64_t& word = words_[begin / 64];
        const std::uint64_t mask = bits(begin % 64, begin % 64 + (word_end - begin));
        changed += count((set ? ~word : word) & mask);
        word = set ? word | mask : word & ~mask;
        begin = word_end;
      }
      // Unsigned arithmetic wraps, so that adding the negative subtracts.
      add(group, set ? changed : 0 - changed);
    }
  }

  /// Makes room for `more` slots from `next` on. Where much of the line is stale, the live touches
  /// move together instead, keep their order, and `slots`, all but those of `never`, follow them.
  /// Returns the next free slot, which is at least 1.
  std::uint64_t make_room(std::uint64_t next, std::uint64_t more, std::span<std::uint32_t> places,
                          std::uint32_t never) {
    if (next + more <= slots()) return next;
    if (slots() > kStalePerLive * (live_ + more)) return gather(places, never);
    resize(std::max(2 * slots(), next + more));
    KV_ASSERT(slots() < never, "more than 2^32 touches to tell apart");
    return next;
  }

 private:
  static constexpr std::uint64_t kGroupWords = 8;
  static constexpr std::uint64_t kGroupSlots = 64 * kGroupWords;
  static constexpr std::uint64_t kStalePerLive = 8;

  static std::uint64_t count(std::uint64_t word) {
    return static_cast<std::uint64_t>(std::popcount(word));
  }
  /// Bits [begin, end) of a word, begin < end <= 64.
  static std::uint64_t bits(std::uint64_t begin, std::uint64_t end) {
    return (~std::uint64_t{0} >> (64 - (end - begin))) << begin;
  }
  void add(std::uint64_t group, std::uint64_t n) {
    live_ += n;
    for (std::uint64_t i = group + 1; i < sums_.size(); i += i & (0 - i)) sums_[i] += n;
  }

  void resize(std::uint64_t slots) {
    words_.resize((slots / kGroupSlots + 1) * kGroupWords, 0);
    sums_.assign(words_.size() / kGroupWords + 1, 0);
    live_ = 0;
    for (std::uint64_t word = 0; word < words_.size(); ++word) {
      sums_[word / kGroupWords + 1] += count(words_[word]);
      live_ += count(words_[word]);
    }
    for (std::uint64_t i = 1; i < sums_.size(); ++i) {
      const std::uint64_t parent = i + (i & (0 - i));
      if (parent < sums_.size()) sums_[parent] += sums_[i];
    }
  }

  std::uint64_t gather(std::span<std::uint32_t> places, std::uint32_t never) {
    // A place moves to the number of live touches at or below it: 1 for the lowest of them.
    for (std::uint32_t& place : places) {
      if (place != never) place = static_cast<std::uint32_t>(live_ - above(place));
    }
    const std::uint64_t next = live_ + 1;
    const std::uint64_t slots = words_.size() * 64 - 1;
    words_.clear();
    resize(slots);
    assign(1, next, true);
    return next;
  }

  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> sums_;  ///< Fenwick, from 1
  std::uint64_t live_ = 0;
};

/// Differences of a histogram of distances, so that a run of distances costs as much as one.
class DistanceCounts {
 public:
  /// One reference at each of [begin, end).
  void add(std::uint64_t begin, std::uint64_t end) {
    reserve(end);
    ++change_[begin];
    --change_[end];
  }
  void add_at(std::uint64_t distance, std::uint64_t n) {
    reserve(distance + 1);
    change_[distance] += n;
    change_[distance + 1] -= n;
  }
  /// Summed up: entry C counts the distances below C. As long as the largest distance asks for.
  std::vector<std::uint64_t> sums() && {
    change_.resize(end_ + 1);
    std::uint64_t here = 0;
    std::uint64_t below = 0;
    for (std::uint64_t& entry : change_) {
      here += entry;
      entry = std::exchange(below, below + here);
    }
    return std::move(change_);
  }

 private:
  void reserve(std::uint64_t end) {
    end_ = std::max(end_, end);
    if (end >= change_.size()) change_.resize(2 * end + 1, 0);
  }

  std::vector<std::uint64_t> change_;  ///< wraps around below 0
  std::uint64_t end_ = 0;              ///< all that was counted is below
};

}  // namespace spillway
