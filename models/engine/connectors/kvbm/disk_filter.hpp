// Which blocks of host memory are worth a write to disk: those copied down more than once
// (lib/llm/src/block_manager/offload/filter.rs, FrequencyFilter).
//
// The first sighting of a block counts 1, each later one doubles its count. All counts lose 1 every
// period, and those at 0 are forgotten. Above the limit of entries that repeats at once until they
// fit, and a new period begins.
//
// Decays between two sightings are caught up with at the later one: nobody else asks. Model: counts
// stop doubling at 2^62.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/releases/chunk_connectors.hpp"
#include "sim/growing_column.hpp"
#include "sim/ids.hpp"
#include "sim/units.hpp"

namespace spillway {

class DiskFilter {
 public:
  explicit DiskFilter(const KvbmConfig& config) : config_(config), next_(config.filter_decay) {}

  /// The block is sighted now: whether it passes.
  bool sight(BlockId block, Time now) {
    catch_up(now);
    counts_.grow(std::size_t{raw(block)} + 1, 0);
    std::int64_t& count = counts_[raw(block)];
    if (count == 0) entries_.push_back(block);
    count = count == 0 ? 1 : std::min(2 * count, kMost);
    const bool passes = count >= std::int64_t{config_.filter_min};
    if (entries_.size() > config_.filter_entries) prune(now);
    return passes;
  }
  std::size_t entries() const { return entries_.size(); }

 private:
  static constexpr std::int64_t kMost = std::int64_t{1} << 62;

  void catch_up(Time now) {
    if (next_ > now) return;
    const std::int64_t periods = (now - next_) / config_.filter_decay + 1;
    next_ += config_.filter_decay * periods;
    decay(periods);
  }
  /// As many times as it takes: up to the lowest count nothing is forgotten.
  void prune(Time now) {
    while (entries_.size() > config_.filter_entries) {
      std::int64_t lowest = kMost;
      for (const BlockId block : entries_) lowest = std::min(lowest, counts_[raw(block)]);
      decay(lowest);
    }
    next_ = now + config_.filter_decay;
  }
  void decay(std::int64_t times) {
    std::erase_if(entries_, [&](BlockId block) {
      std::int64_t& count = counts_[raw(block)];
      count = std::max<std::int64_t>(count - times, 0);
      return count == 0;
    });
  }

  KvbmConfig config_;
  Time next_;                           ///< when all lose 1
  GrowingColumn<std::int64_t> counts_;  ///< by block; 0: no entry
  std::vector<BlockId> entries_;
};

}  // namespace spillway
