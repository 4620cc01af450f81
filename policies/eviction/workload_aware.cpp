// Reuse as the workload shows it: after Wang et al., "KVCache Cache in the Wild: Characterizing and
// Optimizing KVCache Cache at a Large Cloud Provider", USENIX ATC 2025, arXiv 2506.02634. Among
// requests of one category and turn, whether and when blocks are used again is predictable, and the
// times of reuse are close to exponential; so the block that is least likely to be used again while
// it could stay leaves, the deeper first.
//
// A block belongs to the class (category, turn) of the request that used it last. What happened is
// learned at look-ups, whether the block was resident or not: of n uses by a class r were followed
// by another, after m seconds on average. With p = (r + 1) / (n + 2), a block unused for t seconds
// is used again within the next `life` with probability
//   p * e^(-t/m) * (1 - e^(-life/m)) / (1 - p + p * e^(-t/m)),
// where `life` is how long blocks that left had been unused: a moving average. That falls with t,
// so within a class the least recently used leaves first, and a victim is the least probable of the
// classes' fronts; equals go by depth, then by age.
//
// Model: time counts in 2^24 ns (17 ms). Probabilities are tabulated at half-octaves of t and made
// again every 512 victims: within a class the order is exact, between classes an age counts to a
// fifth. Uses too recent to have been followed count as not followed. Blocks that one request used
// leave in the order of the caller, which is tail first.
//
// Memory: 12 bytes a slot, 12 a block.
#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/block_depths.hpp"
#include "policies/containers/index_lists.hpp"
#include "sim/det_math.hpp"

namespace spillway {

namespace {

/// Time in units of 2^24 ns: four bytes last 2.3 years.
using Tick = std::uint32_t;
constexpr int kTickShift = 24;

/// Half-octaves of ticks: bucket 2w holds those from 2^w, bucket 2w + 1 those from 1.5 * 2^w.
constexpr std::uint32_t kAges = 64;
std::uint32_t age_bucket(Tick age) {
  if (age < 2) return age;
  const int octave = static_cast<int>(std::bit_width(age)) - 1;
  return 2 * static_cast<std::uint32_t>(octave) + ((age >> (octave - 1)) & 1);
}
double middle_of(std::uint32_t bucket) {
  if (bucket < 2) return bucket;
  const double octave = static_cast<double>(std::uint64_t{1} << (bucket / 2));
  return octave * (bucket % 2 == 0 ? 1.25 : 1.75);
}

/// What became of the uses of each class, and the odds that follow.
class ReuseModel {
 public:
  explicit ReuseModel(std::uint32_t classes) : seen_(classes), odds_(classes * kAges) {}

  void used(std::uint32_t of) {
    Seen& seen = seen_[of];
    if (++seen.uses < kMemory) return;
    seen.uses /= 2;
    seen.reuses /= 2;
    seen.ticks /= 2;
  }
  void used_again(std::uint32_t of, Tick after) {
    ++seen_[of].reuses;
    seen_[of].ticks += after;
  }

  /// The odds of all classes, where blocks stay for another `life` ticks.
  void tabulate(double life) {
    double reuses = 0;
    double ticks = 0;
    for (const Seen& seen : seen_) {
      reuses += static_cast<double>(seen.reuses);
      ticks += static_cast<double>(seen.ticks);
    }
    const double mean_of_all = reuses > 0 ? ticks / reuses : life;
    for (std::uint32_t of = 0; of < seen_.size(); ++of) {
      const Seen& seen = seen_[of];
      const double mean = seen.reuses == 0
                              ? mean_of_all
                              : static_cast<double>(seen.ticks) / static_cast<double>(seen.reuses);
      const double per_tick = 1 / std::max(mean, 1.0);
      const double p = std::min(
          1.0, (static_cast<double>(seen.reuses) + 1) / (static_cast<double>(seen.uses) + 2));
      const double within = p * (1 - det::exp(-life * per_tick));
      for (std::uint32_t age = 0; age < kAges; ++age) {
        const double later = det::exp(-middle_of(age) * per_tick);
        odds_[of * kAges + age] = within * later / (1 - p + p * later);
      }
    }
  }
  double odds(std::uint32_t of, Tick age) const { return odds_[of * kAges + age_bucket(age)]; }

 private:
  /// So many uses of a class, then what was learned so far counts half.
  static constexpr std::uint64_t kMemory = 1 << 20;
  struct Seen {
    std::uint64_t uses = 0;
    std::uint64_t reuses = 0;
    std::uint64_t ticks = 0;  ///< until reuse, of all reuses together
  };

  std::vector<Seen> seen_;
  std::vector<double> odds_;
};

class WorkloadAware final : public EvictionPolicy {
 public:
  WorkloadAware(const EvictionContext& context, std::uint32_t turns)
      : contents_(*context.contents),
        requests_(*context.requests),
        turns_(turns),
        categories_(std::clamp(context.requests->categories, 1u, kMostCategories)),
        unnamed_(categories_ * turns_),
        model_(categories_ * turns_),
        order_(unnamed_ + 1, context.slots),
        used_(context.slots),
        last_(context.blocks),
        depths_(context.blocks) {}

  bool wants_chains() const override { return true; }
  void on_lookup(BlockSpan chain, const Access& access) override {
    advance(access.now);
    depths_.learn(chain);
    const std::uint32_t of = class_of(access.request);
    for (const BlockId block : chain) {
      Use& last = last_[raw(block)];
      if (last.of != kUnused) model_.used_again(last.of, now_ - last.at);
      note(last, of);
    }
  }
  /// What the request has computed beyond its prompt was used for the first time.
  void on_release(BlockSpan chain, const Access& access) override {
    advance(access.now);
    depths_.learn(chain);
    const std::uint32_t of = class_of(access.request);
    for (const BlockId block : chain) {
      Use& last = last_[raw(block)];
      if (last.of == kUnused) note(last, of);
    }
  }

  void add(SlotSpan slots, const Access& access) override {
    advance(access.now);
    const std::uint32_t of = class_of(access.request);
    for (const SlotId slot : slots) enqueue(slot, of);
  }
  void touch(SlotSpan slots, const Access& access) override {
    advance(access.now);
    const std::uint32_t of = class_of(access.request);
    for (const SlotId slot : slots) {
      order_.erase(raw(slot));
      enqueue(slot, of);
    }
  }
  void remove(SlotSpan slots, RemoveCause) override {
    for (const SlotId slot : slots) order_.erase(raw(slot));
  }
  void pop_victims(std::span<SlotId> out, BlockSpan, const Access& access) override {
    advance(access.now);
    for (SlotId& victim : out) {
      victim = next();
      order_.erase(raw(victim));
    }
  }
  void grow(std::uint32_t slots, std::uint32_t blocks) override {
    order_.grow(slots);
    used_.resize(slots);
    last_.resize(blocks);
    depths_.grow(blocks);
  }

 private:
  static constexpr std::uint32_t kMostCategories = 32;  ///< the last stands for all others
  static constexpr std::uint32_t kUnused = ~std::uint32_t{0};
  static constexpr std::uint32_t kVictimsPerTable = 512;
  static constexpr double kLifeShare = 1.0 / 64;  ///< of one victim in the average
  struct Use {
    std::uint32_t of = kUnused;  ///< class
    Tick at = 0;
  };

  void advance(Time now) {
    const std::int64_t ticks = nanoseconds_of(now) >> kTickShift;
    constexpr std::int64_t kMost = std::numeric_limits<Tick>::max();
    now_ = std::max(now_, static_cast<Tick>(std::clamp<std::int64_t>(ticks, 0, kMost)));
    if (!started_) start_ = now_;
    started_ = true;
  }
  std::uint32_t class_of(RequestId request) const {
    const std::uint32_t category = std::min(requests_.category[request], categories_ - 1);
    return category * turns_ + std::min(requests_.turn[request], turns_ - 1);
  }
  void note(Use& last, std::uint32_t of) {
    model_.used(of);
    last = {of, now_};
  }
  void enqueue(SlotId slot, std::uint32_t of) {
    used_[raw(slot)] = now_;
    order_.push_back(contents_[slot] == kNoBlock ? unnamed_ : of, raw(slot));
  }

  /// Precondition: a slot is evictable.
  SlotId next() {
    if (!order_.empty(unnamed_)) return SlotId{order_.front(unnamed_)};
    if (victims_++ % kVictimsPerTable == 0) {
      // Before anything has left, blocks stay for as long as there have been any.
      if (victims_ == 1) life_ = now_ - start_;
      model_.tabulate(life_);
    }
    SlotId victim = kNoSlot;
    double least = 0;
    for (std::uint32_t of = 0; of < unnamed_; ++of) {
      if (order_.empty(of)) continue;
      const SlotId front{order_.front(of)};
      const double odds = model_.odds(of, now_ - used_[raw(front)]);
      if (victim == kNoSlot || odds < least || (odds == least && before(front, victim))) {
        victim = front;
        least = odds;
      }
    }
    life_ += (now_ - used_[raw(victim)] - life_) * kLifeShare;
    return victim;
  }
  /// Of two that are equally probable.
  bool before(SlotId a, SlotId b) const {
    const std::uint32_t depth_a = depths_[contents_[a]];
    const std::uint32_t depth_b = depths_[contents_[b]];
    return depth_a != depth_b ? depth_a > depth_b : used_[raw(a)] < used_[raw(b)];
  }

  const SlotContents& contents_;
  const RequestFacts& requests_;
  std::uint32_t turns_;
  std::uint32_t categories_;
  std::uint32_t unnamed_;  ///< the list of slots whose block has no name
  ReuseModel model_;
  IndexLists order_;        ///< by class
  std::vector<Tick> used_;  ///< by slot
  std::vector<Use> last_;   ///< by block, resident or not
  BlockDepths depths_;
  Tick now_ = 0;
  Tick start_ = 0;
  bool started_ = false;
  double life_ = 0;
  std::uint64_t victims_ = 0;
};

}  // namespace

extern const ParamSpec kWorkloadAwareParams[1];
const ParamSpec kWorkloadAwareParams[1] = {
    {"turns", "turns of a session that are told apart; the last stands for all later ones", 4, 1,
     16, ParamSpec::Kind::kWhole},
};

std::unique_ptr<EvictionPolicy> make_workload_aware(const EvictionContext& context,
                                                    const Params& params, const SourceRef&) {
  KV_ASSERT(context.requests != nullptr, "no requests to learn from");
  return std::make_unique<WorkloadAware>(context,
                                         static_cast<std::uint32_t>(params.whole("turns")));
}

}  // namespace spillway
