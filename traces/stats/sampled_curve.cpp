#include "traces/stats/sampled_curve.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "sim/rng.hpp"
#include "traces/interner.hpp"
#include "traces/stats/touch_line.hpp"

namespace spillway {

namespace {

/// Groups of sampled blocks, each a sample of its own.
constexpr std::size_t kGroups = 32;
/// One of so many references in a row is drawn, to find hot blocks by.
constexpr std::uint64_t kDrawOne = 32;
/// Blocks drawn before they are forgotten, so that a long trace does not fill the memory.
constexpr std::uint32_t kMostDrawn = 1U << 18;
/// Of so many references of held blocks, the distance of one is measured.
constexpr std::uint64_t kHeldEach = 8;
/// References of a hot block before it has been drawn twice, as many as are to be expected.
constexpr std::uint32_t kBeforeHeld = 2 * kDrawOne;
/// Held at least; as many as are sampled at most.
constexpr std::uint64_t kFewestHeld = 1024;

/// One bit for each of some hashes, and for few others.
class Filter {
 public:
  /// Valid until the next add().
  struct View {
    const std::uint64_t* words;
    std::uint64_t mask;
    bool may_hold(std::uint64_t hash) const {
      return (words[hash >> 6 & mask] >> (hash & 63) & 1) != 0;
    }
  };

  View view() const { return {words_.data(), mask_}; }
  void add(std::uint64_t hash) {
    hashes_.push_back(hash);
    if (hashes_.size() * kBitsEach <= words_.size() * 64) return set(hash);
    words_.assign(2 * words_.size(), 0);
    mask_ = words_.size() - 1;
    for (const std::uint64_t known : hashes_) set(known);
  }

 private:
  static constexpr std::size_t kBitsEach = 128;
  void set(std::uint64_t hash) { words_[hash >> 6 & mask_] |= std::uint64_t{1} << (hash & 63); }

  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(64, 0);
  std::uint64_t mask_ = 63;
  std::vector<std::uint64_t> hashes_;
};

/// Hits by distance on a grid of four steps to a doubling: those of each group of sampled blocks,
/// and those of held blocks.
class ErrorGrid {
 public:
  void add_reference(std::uint64_t hash) { ++references_[hash % kGroups]; }
  void add_hit(std::uint64_t hash, std::uint64_t distance) {
    ++hits_[step_of(distance)][hash % kGroups];
  }
  void add_held_hit(std::uint64_t distance) { ++held_hits_[step_of(distance)]; }

  /// The standard errors of the hits by distance, up to the largest distance, where each sampled
  /// reference stands for `weight`, and all groups together should have had `expected` references.
  /// `held_variance`: of the hits that blocks had before they were held.
  struct Step {
    std::uint64_t distance;  ///< the least
    double error;
  };
  std::vector<Step> errors(double weight, double expected, double held_variance) const {
    std::size_t end = kSteps;
    while (end > 1 && sum(hits_[end - 1]) == 0 && held_hits_[end - 1] == 0) --end;
    double total = 0;
    for (const Groups& step : hits_) total += sum(step);
    double held = 0;
    for (const std::uint64_t n : held_hits_) held += static_cast<double>(n);
    double held_below = 0;
    Groups below{};
    std::vector<Step> out;
    for (std::size_t s = 0; s < end; ++s) {
      for (std::size_t g = 0; g < kGroups; ++g) below[g] += hits_[s][g];
      const double share = total > 0 ? sum(below) / total : 0;
      const double blur =
          spread(s, sum(hits_[s]) * weight + static_cast<double>(held_hits_[s] * kHeldEach));
      held_below += static_cast<double>(held_hits_[s]);
      const double before = held > 0 ? held_below / held : 0;
      out.push_back({least_of(s), std::sqrt(variance(below, share, weight, expected) +
                                            before * before * held_variance + blur * blur)});
    }
    return out;
  }

 private:
  using Groups = std::array<std::uint64_t, kGroups>;
  static constexpr std::size_t kSteps = 252;

  static std::size_t step_of(std::uint64_t distance) {
    if (distance < 4) return static_cast<std::size_t>(distance);
    const auto log2 = static_cast<std::size_t>(std::bit_width(distance) - 1);
    return 4 * (log2 - 1) + static_cast<std::size_t>(distance >> (log2 - 2) & 3);
  }
  static std::uint64_t least_of(std::size_t step) {
    if (step < 4) return step;
    return std::uint64_t{4 + step % 4} << (step / 4 - 1);
  }
  static double sum(const Groups& groups) {
    double out = 0;
    for (const std::uint64_t n : groups) out += static_cast<double>(n);
    return out;
  }
  /// A distance among sampled blocks counts those that the hash happened to choose: it is off by
  /// its root. At worst all of them are off the same way, and as many hits move across.
  static double spread(std::size_t step, double hits) {
    const auto low = static_cast<double>(least_of(step));
    const auto width = static_cast<double>(least_of(step + 1)) - low;
    return hits / width * std::sqrt(low + 1);
  }
  /// Of the sum of all groups' estimates, which are independent of each other.
  double variance(const Groups& hits, double share, double weight, double expected) const {
    std::array<double, kGroups> estimate{};
    double mean = 0;
    for (std::size_t g = 0; g < kGroups; ++g) {
      const double missing = expected / kGroups - static_cast<double>(references_[g]) * weight;
      estimate[g] = static_cast<double>(hits[g]) * weight + share * missing;
      mean += estimate[g] / kGroups;
    }
    double squares = 0;
    for (const double e : estimate) squares += (e - mean) * (e - mean);
    return squares / (kGroups - 1) * kGroups;
  }

  std::array<Groups, kSteps> hits_{};
  std::array<std::uint64_t, kSteps> held_hits_{};
  Groups references_{};
};

}  // namespace

class SampledCounter::Counting {
 public:
  Counting(double rate, std::uint64_t seed, TouchOrder order, Atomicity atomicity)
      : rate_(rate),
        // 2^-64 short of the rate, or all of them.
        most_(rate < 1 ? static_cast<std::uint64_t>(rate * 0x1p64) : ~std::uint64_t{0}),
        // mix64 leaves 0 as it is, and a trace's first block may well be called 0.
        salt_(mix64(seed + 0x9e3779b97f4a7c15ULL)),
        order_(order),
        atomicity_(atomicity),
        line_(kFewestSlots) {
    if (rate_ < 1) next_draw_ = draw_in(0);
  }

  template <class NameAt>
  void add(std::size_t size, NameAt name_at) {
    found_.clear();
    // Nearly all of the time goes here: a hash and two comparisons for each reference.
    const std::uint64_t salt = salt_;
    const std::uint64_t most = most_;
    const Filter::View held = held_.view();
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t hash = mix64(name_at(i) + salt);
      if (hash <= most || held.may_hold(hash)) {
        find(name_at(i), hash, i > 0 ? name_at(i - 1) + 1 : 0);
      }
    }
    count();
    for (; next_draw_ < references_ + size; next_draw_ = draw_in(next_draw_ / kDrawOne + 1)) {
      draw(name_at(static_cast<std::size_t>(next_draw_ - references_)));
    }
    references_ += size;
  }

  SampledCurve curve() &&;

 private:
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};
  static constexpr std::uint64_t kFewestSlots = std::uint64_t{1} << 16;

  struct Block {
    std::uint64_t hash;
    std::uint64_t parent;  ///< name of the block before it, plus one; 0: none
    bool held = false;
    std::uint32_t since = 0;    ///< references since it is held, as far as they matter
    bool inconsistent = false;  ///< or not sampled, and not looked at
  };

  /// Before a hot block is held, it is in the sample or not as any other, with all of its
  /// references until then. So few are in the sample that its groups cannot show what that does.
  double held_variance() const {
    double out = 0;
    for (const Block& block : blocks_) {
      if (block.held) out += static_cast<double>(block.since) * static_cast<double>(block.since);
    }
    return out * (1 - rate_) / rate_;
  }
  /// The reference that is drawn of some in a row.
  std::uint64_t draw_in(std::uint64_t row) const {
    return kDrawOne * row + mix64(row ^ salt_) % kDrawOne;
  }
  bool sampled(const Block& block) const { return block.hash <= most_; }

  void find(std::uint64_t name, std::uint64_t hash, std::uint64_t parent) {
    const auto known = names_.find(name);
    if (!known && hash > most_) return;  // the filter took it for another
    const std::uint32_t id = known ? *known : names_.intern(name);
    if (!known) {
      blocks_.push_back({hash, parent});
      slot_.push_back(kNever);
      ++sampled_blocks_;
    }
    Block& block = blocks_[id];
    if (block.parent != parent && !block.inconsistent) {
      block.inconsistent = true;
      ++inconsistent_;
    }
    found_.push_back(id);
  }

  void count() {
    next_ = line_.make_room(next_, found_.size(), slot_, kNever);
    if (atomicity_ == Atomicity::kReference) {
      for (const std::uint32_t id : found_) {
        look_up(id);
        touch(id);
      }
      return;
    }
    for (const std::uint32_t id : found_) look_up(id);
    if (order_ == TouchOrder::kReverse) std::reverse(found_.begin(), found_.end());
    for (const std::uint32_t id : found_) touch(id);
  }

  void look_up(std::uint32_t id) {
    Block& block = blocks_[id];
    ++measured_;
    if (block.held) {
      block.since += block.since < kBeforeHeld ? 1 : 0;
      // Some show where all are: hot blocks have many. Not every eighth, which a trace of eight
      // tenants in turn would have a pattern for.
      if (mix64(++held_references_ + salt_) % kHeldEach != 0) return;
      const std::uint64_t distance = line_.above(slot_[id]);
      held_counts_.add_at(distance, 1);
      grid_.add_held_hit(distance);
      return;
    }
    grid_.add_reference(block.hash);
    if (slot_[id] == kNever) return;
    const std::uint64_t distance = line_.above(slot_[id]);
    counts_.add_at(distance, 1);
    grid_.add_hit(block.hash, distance);
  }

  /// Blocks that are held and not sampled have a place in the line and do not count in it.
  void touch(std::uint32_t id) {
    std::uint32_t& slot = slot_[id];
    const bool counts = sampled(blocks_[id]);
    if (counts && slot != kNever) line_.assign(slot, slot + 1, false);
    slot = static_cast<std::uint32_t>(next_++);
    if (counts) line_.assign(slot, slot + 1, true);
  }

  /// A block of the request that has just been counted.
  void draw(std::uint64_t name) {
    if (drawn_.size() == kMostDrawn) drawn_ = Interner();
    const std::uint32_t before = drawn_.size();
    drawn_.intern(name);
    if (drawn_.size() > before || held_blocks_ >= std::max(kFewestHeld, sampled_blocks_)) return;
    const std::uint64_t hash = mix64(name + salt_);
    const std::uint32_t id = names_.intern(name);
    if (id == blocks_.size()) {
      blocks_.push_back({hash, 0, false, 0, true});
      slot_.push_back(kNever);
    }
    if (blocks_[id].held) return;
    if (slot_[id] == kNever) {  // its place is at the top: the request has just touched it
      next_ = line_.make_room(next_, 1, slot_, kNever);
      slot_[id] = static_cast<std::uint32_t>(next_++);
    }
    blocks_[id].held = true;
    ++held_blocks_;
    held_.add(hash);
  }

  double rate_;
  std::uint64_t most_;  ///< hash of a sampled block
  std::uint64_t salt_;
  TouchOrder order_;
  Atomicity atomicity_;
  TouchLine line_;
  std::uint64_t next_ = 1;
  std::uint64_t references_ = 0;
  std::uint64_t measured_ = 0;
  std::uint64_t held_references_ = 0;
  std::uint64_t sampled_blocks_ = 0;
  std::uint64_t held_blocks_ = 0;
  std::uint64_t inconsistent_ = 0;
  std::uint64_t next_draw_ = ~std::uint64_t{0};  ///< reference, from 0; a sample of all needs none
  Interner names_;                               ///< of sampled and of held blocks
  Interner drawn_;
  Filter held_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> slot_;
  std::vector<std::uint32_t> found_;  ///< of the request, in its order
  DistanceCounts counts_;
  DistanceCounts held_counts_;
  ErrorGrid grid_;
};

/// What the sample has too few references of, or too many, it has at all distances: they are added
/// to, or taken from, its hits in proportion. SHARDS-adj adds them to the first distance, which is
/// the better choice where they are those of few hot blocks; these are held here.
SampledCurve SampledCounter::Counting::curve() && {
  SampledCurve out;
  out.references = references_;
  out.sampled_references = measured_;
  out.sampled_blocks = sampled_blocks_;
  out.held_blocks = held_blocks_;
  out.inconsistent_blocks = inconsistent_;
  out.unique_blocks = static_cast<double>(sampled_blocks_) / rate_;
  const std::vector<std::uint64_t> sampled = std::move(counts_).sums();
  const std::vector<std::uint64_t> held = std::move(held_counts_).sums();
  const auto all = static_cast<double>(references_);
  const auto expected = static_cast<double>(references_ - held_references_);
  const double missing = expected - static_cast<double>(measured_ - held_references_) / rate_;
  const double per_held_hit =
      held.back() == 0 ? 0
                       : static_cast<double>(held_references_) / static_cast<double>(held.back());
  const double per_hit =
      sampled.back() == 0
          ? 0
          : std::max(0.0, 1 / rate_ + missing / static_cast<double>(sampled.back()));
  std::uint64_t last = 0;
  for (std::size_t c = 1; c < std::max(sampled.size(), held.size()); ++c) {
    const double hits = static_cast<double>(sampled[std::min(c, sampled.size() - 1)]) * per_hit +
                        static_cast<double>(held[std::min(c, held.size() - 1)]) * per_held_hit;
    const auto whole = static_cast<std::uint64_t>(std::llround(std::min(hits, all)));
    if (whole == last) continue;
    last = whole;
    // Distance c - 1 of the sample is about (c - 1) / rate.
    const double distance = static_cast<double>(c - 1) / rate_;
    out.changes.push_back({static_cast<std::uint64_t>(distance) + 1, whole});
  }
  if (sampled_blocks_ < kGroups || references_ == 0) return out;
  out.error = 0;
  for (const ErrorGrid::Step& step : grid_.errors(1 / rate_, expected, held_variance())) {
    const double error = std::min(1.0, 2 * step.error / all);
    const double capacity = static_cast<double>(step.distance) / rate_;
    out.errors.push_back({static_cast<std::uint64_t>(capacity) + 1, error});
    if (step.distance > 0) out.error = std::max(out.error, error);
  }
  return out;
}

SampledCounter::SampledCounter(double rate, std::uint64_t seed, TouchOrder order,
                               Atomicity atomicity)
    : counting_(std::make_unique<Counting>(rate, seed, order, atomicity)) {}
SampledCounter::~SampledCounter() = default;
SampledCounter::SampledCounter(SampledCounter&&) noexcept = default;
SampledCounter& SampledCounter::operator=(SampledCounter&&) noexcept = default;

void SampledCounter::add(std::span<const std::uint64_t> names) {
  counting_->add(names.size(), [&](std::size_t i) { return names[i]; });
}

void SampledCounter::add(std::span<const TraceBlockId> chain,
                         std::span<const std::uint64_t> names) {
  if (names.empty()) {
    counting_->add(chain.size(), [&](std::size_t i) { return std::uint64_t{raw(chain[i])}; });
  } else {
    counting_->add(chain.size(), [&](std::size_t i) { return names[raw(chain[i])]; });
  }
}

SampledCurve SampledCounter::curve() && {
  return std::move(*counting_).curve();
}

}  // namespace spillway
