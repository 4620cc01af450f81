// Which chunks have been seen often enough to be stored (vllm/v1/kv_offload/cpu/manager.py,
// store_threshold and max_tracker_size).
//
// Upstream counts what is offered for storing, present or not, once an offer, however often a
// refused batch comes again (pull request 52227); before, each call of lookup(), also those of a
// request that waits and looks again. A walk of look-ups ends at its first miss, so that of a cold
// prefix one more chunk becomes known every other time. The tracker forgets what was seen longest
// ago, but not for the sake of chunks of the same offer.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/containers/index_lists.hpp"
#include "sim/ids.hpp"

namespace spillway {

class StoreThreshold {
 public:
  /// `most` chunks are remembered; block ids are below `blocks`.
  StoreThreshold(std::uint32_t threshold, bool counts_offers, std::uint32_t most,
                 std::uint32_t blocks)
      : threshold_(threshold),
        counts_offers_(counts_offers),
        most_(most),
        count_(blocks, 0),
        order_(1, blocks) {}

  void grow(std::uint32_t blocks) {
    count_.resize(blocks, 0);
    order_.grow(blocks);
  }

  bool counts_offers() const { return counts_offers_; }
  bool passes(BlockId key) const { return count_[raw(key)] >= threshold_; }

  void see_lookup(BlockId key) {
    if (tracked(key)) {
      see_again(key);
    } else {
      if (tracked_ >= most_) forget_oldest();
      track(key);
    }
  }
  void see_offer(BlockSpan keys) {
    std::uint32_t others = tracked_;
    for (const BlockId key : keys) {
      if (!tracked(key)) continue;
      see_again(key);
      --others;
    }
    for (const BlockId key : keys) {
      if (tracked(key)) continue;
      if (tracked_ >= most_) {
        if (others == 0) continue;
        forget_oldest();
        --others;
      }
      track(key);
    }
  }

 private:
  bool tracked(BlockId key) const { return count_[raw(key)] > 0; }
  void track(BlockId key) {
    count_[raw(key)] = 1;
    order_.push_back(0, raw(key));
    ++tracked_;
  }
  void see_again(BlockId key) {
    ++count_[raw(key)];
    order_.erase(raw(key));
    order_.push_back(0, raw(key));
  }
  void forget_oldest() {
    const std::uint32_t oldest = order_.front(0);
    order_.erase(oldest);
    count_[oldest] = 0;
    --tracked_;
  }

  std::uint32_t threshold_;
  bool counts_offers_;
  std::uint32_t most_;
  std::uint32_t tracked_ = 0;
  std::vector<std::uint32_t> count_;  ///< by key; 0: not tracked
  IndexLists order_;                  ///< of keys, seen longest ago first
};

}  // namespace spillway
