#include "traces/stats/reuse_curve.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "sim/error.hpp"
#include "sim/growing_column.hpp"
#include "traces/stats/touch_line.hpp"

namespace spillway {

class ReuseCounter::Counting {
 public:
  Counting(TouchOrder order, Atomicity atomicity, CountedHits counted, std::uint64_t references)
      : order_(order),
        atomicity_(atomicity),
        counts_block_(counted != CountedHits::kPrefix),
        counts_prefix_(counted != CountedHits::kBlock),
        line_(std::clamp(references + 1, kFewestSlots, kMostSlots)) {}

  void add(const RequestBatch& batch) {
    slot_.grow(batch.blocks, kNever);
    references_ += batch.chain.size();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Chain chain = batch.chain_of(i);
      next_ = line_.make_room(next_, chain.size(), slot_, kNever);
      leading_ = true;
      deepest_ = 0;
      if (atomicity_ == Atomicity::kReference) {
        by_reference(chain);
      } else {
        look_up(chain);
        touch(chain);
      }
    }
  }

  ReuseCurve curve() && {
    ReuseCurve out;
    out.references = references_;
    out.unique_blocks = slot_.size();
    out.block = HitCurve(std::move(block_).sums());
    out.prefix = HitCurve(std::move(prefix_).sums());
    return out;
  }

 private:
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};
  static constexpr std::uint64_t kFewestSlots = std::uint64_t{1} << 16;
  static constexpr std::uint64_t kMostSlots = std::uint64_t{1} << 31;

  /// Blocks that were last touched one after the other: their slots are [low, low + n).
  struct Run {
    std::uint64_t low;
    std::uint64_t n;
    bool rising;  ///< along the chain
  };

  /// The longest run from `at` on; its first block has been seen.
  Run run_at(Chain chain, std::size_t at) const {
    const std::uint32_t first = slot_[raw(chain[at])];
    const auto length = [&](std::uint32_t step) {
      std::uint32_t expected = first;
      std::size_t end = at + 1;
      while (end < chain.size() && slot_[raw(chain[end])] == (expected += step)) ++end;
      return static_cast<std::uint64_t>(end - at);
    };
    const std::uint64_t falling = length(~std::uint32_t{0});
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
      if (counts_block_) block_.add(nearest, nearest + run.n);
      if (counts_prefix_ && leading_) count_prefix(nearest, run.n, run.rising);
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

  void touch(Chain chain) {
    for (const Run& run : touched_) line_.assign(run.low, run.low + run.n, false);
    const std::uint64_t begin = next_;
    next_ += chain.size();
    line_.assign(begin, next_, true);
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const std::size_t at = order_ == TouchOrder::kReverse ? chain.size() - 1 - i : i;
      std::uint32_t& slot = slot_[raw(chain[at])];
      const bool touched_before = slot >= begin && slot != kNever;  // within this request
      if (touched_before) line_.assign(slot, slot + 1, false);
      slot = static_cast<std::uint32_t>(begin + i);
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
          slot_[raw(chain[at])] = static_cast<std::uint32_t>(next_++);
        }
      } else {
        Run run = run_at(chain, at);
        if (!run.rising) run = {run.low + run.n - 1, 1, true};
        const std::uint64_t distance = line_.above(run.low);
        if (counts_block_) block_.add_at(distance, run.n);
        deepest_ = std::max(deepest_, distance);
        if (counts_prefix_ && leading_) prefix_.add_at(deepest_, run.n);
        line_.assign(run.low, run.low + run.n, false);
        for (std::uint64_t i = 0; i < run.n; ++i)
          slot_[raw(chain[at++])] = static_cast<std::uint32_t>(next_++);
      }
      line_.assign(begin, next_, true);
    }
  }

  TouchOrder order_;
  Atomicity atomicity_;
  bool counts_block_;
  bool counts_prefix_;
  std::uint64_t references_ = 0;
  GrowingColumn<std::uint32_t> slot_;  ///< of each block's last touch
  TouchLine line_;
  DistanceCounts block_;
  DistanceCounts prefix_;
  std::vector<Run> touched_;   ///< where the request's blocks stood before it
  std::uint64_t next_ = 1;     ///< slot 0 stays free, so that no run falls from it onto kNever
  bool leading_ = true;        ///< no block of this request was absent so far
  std::uint64_t deepest_ = 0;  ///< largest distance in this request so far
};

std::uint64_t HitCurve::capacity_for(std::uint64_t hits) const {
  KV_ASSERT(hits <= infinite_hits(), "{} hits asked of a curve of {}", hits, infinite_hits());
  return static_cast<std::uint64_t>(std::lower_bound(hits_.begin(), hits_.end(), hits) -
                                    hits_.begin());
}

ReuseCounter::ReuseCounter(TouchOrder order, Atomicity atomicity, CountedHits counted,
                           std::uint64_t references_expected)
    : counting_(std::make_unique<Counting>(order, atomicity, counted, references_expected)) {}
ReuseCounter::~ReuseCounter() = default;
ReuseCounter::ReuseCounter(ReuseCounter&&) noexcept = default;
ReuseCounter& ReuseCounter::operator=(ReuseCounter&&) noexcept = default;

void ReuseCounter::add(const RequestBatch& batch) {
  counting_->add(batch);
}

ReuseCurve ReuseCounter::curve() && {
  return std::move(*counting_).curve();
}

ReuseCurve reuse_curve(const Workload& workload, TouchOrder order, Atomicity atomicity) {
  ReuseCounter counter(order, atomicity, CountedHits::kBoth, workload.references());
  counter.add(workload.all());
  return std::move(counter).curve();
}

}  // namespace spillway
