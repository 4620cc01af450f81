// How often blocks of KVBM v2 were used, over all its tiers (lib/kvbm-logical/src/tinylfu.rs).
//
// A count ends at 15. After ten times `entries` uses that raised one, all counts are halved.
// Model: exact; upstream's sketch of 2^21 entries may count two blocks as one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/growing_column.hpp"
#include "sim/ids.hpp"

namespace spillway {

class UseCounts {
 public:
  static constexpr std::uint8_t kMost = 15;

  explicit UseCounts(std::uint32_t entries) : limit_(std::uint64_t{10} * entries) {}

  void use(BlockId block) {
    counts_.grow(std::size_t{raw(block)} + 1, 0);
    std::uint8_t& count = counts_[raw(block)];
    if (count == kMost) return;
    ++count;
    if (++size_ >= limit_) halve();
  }
  std::uint32_t count(BlockId block) const {
    return raw(block) < counts_.size() ? counts_[raw(block)] : 0;
  }

 private:
  void halve() {
    std::uint64_t odd = 0;
    for (std::uint8_t& count : counts_) {
      odd += count % 2;
      count /= 2;
    }
    size_ = size_ / 2 - std::min(size_ / 2, odd);
  }

  std::uint64_t limit_;
  std::uint64_t size_ = 0;
  GrowingColumn<std::uint8_t> counts_;
};

}  // namespace spillway
