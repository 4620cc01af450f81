// The blocks that left a cache last, first out first forgotten, up to a number: a ghost queue.
//
// A ring of names with holes where a block came back; a block is there exactly if the ring still
// names it at the place it remembers. Memory: 4 bytes a block of the workload and 4.5 bytes a name
// remembered. No allocation but by construction and grow().
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/growing_column.hpp"
#include "sim/ids.hpp"

namespace spillway {

class GhostList {
 public:
  /// At most `most` names; block ids are below `blocks`.
  GhostList(std::uint64_t most, std::uint32_t blocks) : most_(most) { grow(blocks); }
  void grow(std::uint32_t blocks) {
    place_.grow(blocks, kNoPlace);
    most_here_ = std::min<std::uint64_t>(most_, blocks);
    const std::uint64_t needed = places_for(most_here_);
    if (needed <= ring_.size()) return;
    close_up();
    ring_.resize(std::min(places_for(most_), std::max<std::uint64_t>(needed, 2 * ring_.size())));
  }

  std::uint64_t size() const { return size_; }
  bool contains(BlockId block) const { return place_[raw(block)] < kRecalled; }

  /// Remembers a block; one that is there already counts as new. The oldest is forgotten where that
  /// is one too many.
  void push(BlockId block) {
    if (most_here_ == 0) return;
    take(block);
    if (size_ == most_here_) forget_oldest();
    if (used_ == ring_.size()) close_up();
    std::uint64_t end = first_ + used_;
    if (end >= ring_.size()) end -= ring_.size();
    ring_[end] = block;
    place_[raw(block)] = static_cast<std::uint32_t>(end);
    ++used_;
    ++size_;
  }
  /// Forgets a block. False where it was neither there nor recalled.
  bool take(BlockId block) {
    std::uint32_t& place = place_[raw(block)];
    if (place == kNoPlace) return false;
    if (place != kRecalled) --size_;
    place = kNoPlace;
    return true;
  }
  /// Takes a block's name out of the queue, if it is there, but leaves it to be taken.
  void recall(BlockId block) {
    if (!contains(block)) return;
    place_[raw(block)] = kRecalled;
    --size_;
  }

 private:
  static constexpr std::uint32_t kNoPlace = ~std::uint32_t{0};
  static constexpr std::uint32_t kRecalled = kNoPlace - 1;

  /// An eighth more, so that holes need closing only once in as many returns.
  static std::uint64_t places_for(std::uint64_t names) { return names + names / 8 + 1; }
  bool named_at(std::uint64_t place) const { return place_[raw(ring_[place])] == place; }
  void forget_oldest() {
    while (!named_at(first_)) step();
    place_[raw(ring_[first_])] = kNoPlace;
    step();
    --size_;
  }
  void step() {
    if (++first_ == ring_.size()) first_ = 0;
    --used_;
  }
  /// Moves the names together and to the front of the ring, in order.
  void close_up() {
    std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(first_), ring_.end());
    std::uint64_t kept = 0;
    for (std::uint64_t i = 0; i < used_; ++i) {
      // Its place before the rotation.
      const std::uint64_t before =
          first_ + i < ring_.size() ? first_ + i : first_ + i - ring_.size();
      if (place_[raw(ring_[i])] != before) continue;
      ring_[kept++] = ring_[i];
    }
    for (std::uint64_t i = 0; i < kept; ++i) {
      place_[raw(ring_[i])] = static_cast<std::uint32_t>(i);
    }
    first_ = 0;
    used_ = kept;
  }

  std::uint64_t most_;
  std::uint64_t most_here_ = 0;         ///< no more than there are blocks
  GrowingColumn<std::uint32_t> place_;  ///< by block
  std::vector<BlockId> ring_;
  std::uint64_t first_ = 0;  ///< the oldest place in use
  std::uint64_t used_ = 0;   ///< places in use, holes too
  std::uint64_t size_ = 0;
};

}  // namespace spillway
