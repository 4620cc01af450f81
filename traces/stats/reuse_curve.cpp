#include "traces/stats/reuse_curve.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "sim/error.hpp"

namespace spillway {

namespace {

/// The LRU stack as a line of slots, one a touch: bit set where the touch is its block's last.
/// Fenwick sums over groups of words count the set bits above a slot.
class TouchLine {
 public:
  explicit TouchLine(std::uint64_t slots)
      : words_((slots / kGroupSlots + 1) * kGroupWords, 0), sums_(slots / kGroupSlots + 2, 0) {}

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

 private:
  static constexpr std::uint64_t kGroupWords = 8;
  static constexpr std::uint64_t kGroupSlots = 64 * kGroupWords;

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

  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> sums_;  ///< Fenwick, from 1
  std::uint64_t live_ = 0;
};

/// Differences of a histogram of distances, so that a run of distances costs as much as one.
class DistanceCounts {
 public:
  explicit DistanceCounts(std::uint64_t unique_blocks) : change_(unique_blocks + 1, 0) {}

  /// One reference at each of [begin, end).
  void add(std::uint64_t begin, std::uint64_t end) {
    ++change_[begin];
    --change_[end];
  }
  void add_at(std::uint64_t distance, std::uint64_t n) {
    change_[distance] += n;
    change_[distance + 1] -= n;
  }
  HitCurve curve() && {
    std::uint64_t here = 0;
    std::uint64_t below = 0;
    for (std::uint64_t& entry : change_) {
      here += entry;
      entry = std::exchange(below, below + here);
    }
    return HitCurve(std::move(change_));
  }

 private:
  std::vector<std::uint64_t> change_;  ///< wraps around below 0
};

class CurveBuilder {
 public:
  explicit CurveBuilder(const Workload& workload)
      : workload_(workload),
        slot_(workload.unique_blocks(), kNever),
        line_(workload.references() + 1),
        block_(workload.unique_blocks()),
        prefix_(workload.unique_blocks()) {}

  ReuseCurve build(TouchOrder order, Atomicity atomicity) {
    for (std::uint32_t i = 0; i < workload_.size(); ++i) {
      const Chain chain = workload_.chain(RequestId{i});
      leading_ = true;
      deepest_ = 0;
      if (atomicity == Atomicity::kReference) {
        by_reference(chain);
      } else {
        look_up(chain);
        touch(chain, order);
      }
    }
    ReuseCurve out;
    out.references = workload_.references();
    out.unique_blocks = workload_.unique_blocks();
    out.block = std::move(block_).curve();
    out.prefix = std::move(prefix_).curve();
    return out;
  }

 private:
  using Chain = std::span<const TraceBlockId>;
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  /// Blocks that were last touched one after the other: their slots are [low, low + n).
  struct Run {
    std::uint64_t low;
    std::uint64_t n;
    bool rising;  ///< along the chain
  };

  /// The longest run from `at` on; its first block has been seen.
  Run run_at(Chain chain, std::size_t at) const {
    const std::uint64_t first = slot_[raw(chain[at])];
    const auto length = [&](std::uint64_t step) {
      std::uint64_t expected = first;
      std::size_t end = at + 1;
      while (end < chain.size() && slot_[raw(chain[end])] == (expected += step)) ++end;
      return static_cast<std::uint64_t>(end - at);
    };
    const std::uint64_t falling = length(~std::uint64_t{0});
    if (falling > 1) return {first - falling + 1, falling, false};
    return {first, length(1), true};
  }

  void look_up(Chain chain) {
    touched_.clear();
    std::size_t at = 0;
    while (at < chain.size()) {
      if (slot_[raw(chain[at])] == kNever) {
        leading_ = false;
        ++at;
        continue;
      }
      const Run run = run_at(chain, at);
      const std::uint64_t nearest = line_.above(run.low + run.n - 1);
      block_.add(nearest, nearest + run.n);
      if (leading_) count_prefix(nearest, run.n, run.rising);
      touched_.push_back(run);
      at += run.n;
    }
  }

  /// A block counts from the capacity on at which all blocks before it do too. The run's distances
  /// are [nearest, nearest + n), falling along the chain where the slots rise.
  void count_prefix(std::uint64_t nearest, std::uint64_t n, bool rising) {
    const std::uint64_t farthest = nearest + n - 1;
    std::uint64_t covered = n;  // blocks that count as soon as those before them do
    if (rising) {
      deepest_ = std::max(deepest_, farthest);
    } else {
      covered = deepest_ < nearest ? 0 : std::min(n, deepest_ - nearest + 1);
    }
    if (covered > 0) prefix_.add_at(deepest_, covered);
    if (covered < n) prefix_.add(nearest + covered, nearest + n);
    deepest_ = std::max(deepest_, farthest);
  }

  void touch(Chain chain, TouchOrder order) {
    for (const Run& run : touched_) line_.assign(run.low, run.low + run.n, false);
    const std::uint64_t begin = next_;
    next_ += chain.size();
    line_.assign(begin, next_, true);
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const std::size_t at = order == TouchOrder::kReverse ? chain.size() - 1 - i : i;
      std::uint64_t& slot = slot_[raw(chain[at])];
      const bool touched_before = slot >= begin && slot != kNever;  // within this request
      if (touched_before) line_.assign(slot, slot + 1, false);
      slot = begin + i;
    }
  }

  /// All blocks of a rising run are as far away as its first: of those above each, the ones of the
  /// run before it have moved to the top, and are above it still.
  void by_reference(Chain chain) {
    std::size_t at = 0;
    while (at < chain.size()) {
      const std::uint64_t begin = next_;
      if (slot_[raw(chain[at])] == kNever) {
        leading_ = false;
        for (; at < chain.size() && slot_[raw(chain[at])] == kNever; ++at) {
          slot_[raw(chain[at])] = next_++;
        }
      } else {
        Run run = run_at(chain, at);
        if (!run.rising) run = {run.low + run.n - 1, 1, true};
        const std::uint64_t distance = line_.above(run.low);
        block_.add_at(distance, run.n);
        deepest_ = std::max(deepest_, distance);
        if (leading_) prefix_.add_at(deepest_, run.n);
        line_.assign(run.low, run.low + run.n, false);
        for (std::uint64_t i = 0; i < run.n; ++i) slot_[raw(chain[at++])] = next_++;
      }
      line_.assign(begin, next_, true);
    }
  }

  const Workload& workload_;
  std::vector<std::uint64_t> slot_;  ///< of each block's last touch
  TouchLine line_;
  DistanceCounts block_;
  DistanceCounts prefix_;
  std::vector<Run> touched_;   ///< where the request's blocks stood before it
  std::uint64_t next_ = 1;     ///< slot 0 stays free, so that no run falls from it onto kNever
  bool leading_ = true;        ///< no block of this request was absent so far
  std::uint64_t deepest_ = 0;  ///< largest distance in this request so far
};

}  // namespace

std::uint64_t HitCurve::capacity_for(std::uint64_t hits) const {
  KV_ASSERT(hits <= infinite_hits(), "{} hits asked of a curve of {}", hits, infinite_hits());
  return static_cast<std::uint64_t>(std::lower_bound(hits_.begin(), hits_.end(), hits) -
                                    hits_.begin());
}

ReuseCurve reuse_curve(const Workload& workload, TouchOrder order, Atomicity atomicity) {
  return CurveBuilder(workload).build(order, atomicity);
}

}  // namespace spillway
