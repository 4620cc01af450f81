// vLLM's ARC against a plain version of it, and its differences from the paper's one by one.
#include <algorithm>
#include <list>
#include <set>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/policy_rig.hpp"

namespace spillway::test {
namespace {

using Ids = std::vector<std::uint32_t>;

/// A tier that keeps block i in slot i, as the OffloadingConnector's tells a policy.
class Tier {
 public:
  explicit Tier(std::uint64_t capacity) : rig_("vllm-arc", kBlocks, {.capacity = capacity}) {}

  void begin_write(std::uint32_t block) {
    rig_.contents()[SlotId{block}] = BlockId{block};
    rig_->insert(SlotId{block});
    held_.insert(block);
  }
  void end_write(const Ids& blocks) { rig_->add(slots(blocks), {}); }
  void pin(const Ids& blocks) { rig_->remove(slots(blocks), RemoveCause::kPinned); }
  void unpin(const Ids& blocks) { rig_->add(slots(blocks), {}); }
  /// Blocks in the order in which they are to count as used.
  bool look_up(const Ids& blocks) {
    std::vector<BlockId> names;
    std::vector<SlotId> places;
    for (const std::uint32_t block : blocks) {
      names.push_back(BlockId{block});
      places.push_back(held_.contains(block) ? SlotId{block} : kNoSlot);
    }
    return rig_->touch_all(names, places);
  }
  /// Empty where the policy refuses.
  Ids evict(std::size_t count) {
    std::vector<SlotId> out(count);
    if (!rig_->try_pop_victims(out, {}, {})) return {};
    Ids victims;
    for (const SlotId slot : out) {
      victims.push_back(raw(slot));
      held_.erase(raw(slot));
      rig_.contents()[slot] = kNoBlock;
    }
    return victims;
  }
  void store(const Ids& blocks) {
    for (const std::uint32_t block : blocks) begin_write(block);
    end_write(blocks);
  }

  static constexpr std::uint32_t kBlocks = 40;

 private:
  static std::vector<SlotId> slots(const Ids& blocks) {
    std::vector<SlotId> out;
    for (const std::uint32_t block : blocks) out.push_back(SlotId{block});
    return out;
  }

  PolicyRig rig_;
  std::set<std::uint32_t> held_;
};

TEST_CASE("in vLLM's ARC what was looked for outlives what only came", "[policies]") {
  Tier tier(10);
  tier.store({0, 1, 2, 3});
  tier.look_up({1, 0});  // to T2, 0 the most recent
  CHECK(tier.evict(4) == Ids{2, 3, 1, 0});
}

TEST_CASE("a block that is being written is not used twice by the look-up that brought it",
          "[policies]") {
  Tier tier(10);
  tier.begin_write(0);
  tier.begin_write(1);
  tier.look_up({0});  // T1 still, behind 1
  tier.end_write({0, 1});
  CHECK(tier.evict(2) == Ids{1, 0});
}

TEST_CASE("pins keep a block's place and only hide it", "[policies]") {
  Tier tier(10);
  tier.store({0, 1, 2});
  tier.pin({0, 1});
  CHECK(tier.evict(1) == Ids{2});
  tier.unpin({1, 0});
  CHECK(tier.evict(2) == Ids{0, 1});
}

TEST_CASE("a look-up for what has left moves the target, coming back does not", "[policies]") {
  // 0 and 1 leave T1. The look-up for them adds 1 to the target for each, as B2 is empty: 2.
  Tier tier(4);
  tier.store({0, 1, 2, 3});
  CHECK(tier.evict(2) == Ids{0, 1});
  CHECK(tier.look_up({1, 0}));
  tier.look_up({3});  // T2
  // T1 holds 2 alone, less than its target: T2 gives.
  CHECK(tier.evict(1) == Ids{3});
  tier.store({0});  // its ghost is forgotten, and teaches nothing
  CHECK_FALSE(tier.look_up({5}));
  // T1 holds 2 and 0, which is the target: it gives.
  CHECK(tier.evict(1) == Ids{2});
}

TEST_CASE("a ghost of T2 lowers the target again", "[policies]") {
  Tier tier(4);
  tier.store({0, 1, 2, 3});
  tier.evict(1);         // 0 into B1
  tier.look_up({3, 2});  // T2
  tier.look_up({0});     // target 1
  tier.look_up({0});     // 2: T1 holds 1 alone
  CHECK(tier.evict(1) == Ids{3});
  tier.look_up({3});  // |B1| / |B2| = 1: target 1
  CHECK(tier.evict(1) == Ids{1});
}

TEST_CASE("section 9 (4): an eviction fails with candidates in T1", "[policies]") {
  // Target 2 and one block in T1: it is T2's turn, and T2 has only what is being read.
  Tier tier(4);
  tier.store({0, 1, 2});
  tier.evict(1);
  tier.look_up({2});
  tier.look_up({0});
  tier.look_up({0});
  tier.pin({2});
  CHECK(tier.evict(1).empty());
  tier.unpin({2});
  CHECK(tier.evict(1) == Ids{2});
  // One after another: T1 has 1, below its target; T2 is empty now.
  CHECK(tier.evict(1).empty());
}

TEST_CASE("ghosts are trimmed to the capacity", "[policies]") {
  Tier tier(2);
  for (std::uint32_t block = 0; block < 6; block += 2) {
    tier.store({block, block + 1});
    tier.evict(2);
  }
  CHECK_FALSE(tier.look_up({0, 1, 2, 3}));
  CHECK(tier.look_up({4}));
}

/// The same as lists of names, as upstream's ordered dictionaries.
class PlainArc {
 public:
  explicit PlainArc(double capacity) : capacity_(capacity) {}

  enum class State { kWritten, kRead, kIdle };
  std::list<std::uint32_t> t1, t2, b1, b2;
  State state[Tier::kBlocks] = {};

  static bool has(const std::list<std::uint32_t>& l, std::uint32_t id) {
    return std::find(l.begin(), l.end(), id) != l.end();
  }
  bool holds(std::uint32_t id) const { return has(t1, id) || has(t2, id); }
  void insert(std::uint32_t id) {
    t1.push_back(id);
    state[id] = State::kWritten;
    b1.remove(id);
    b2.remove(id);
  }
  void touch(const Ids& ids) {
    for (const std::uint32_t id : ids) {
      if (has(t1, id)) {
        t1.remove(id);
        (state[id] == State::kWritten ? t1 : t2).push_back(id);
      } else if (has(t2, id)) {
        t2.remove(id);
        t2.push_back(id);
      } else if (has(b1, id)) {
        target_ = std::min(capacity_, target_ + std::max(1.0, size(b2) / size(b1)));
        b1.remove(id);
        b1.push_back(id);
      } else if (has(b2, id)) {
        target_ = std::max(0.0, target_ - std::max(1.0, size(b1) / size(b2)));
        b2.remove(id);
        b2.push_back(id);
      }
    }
  }
  Ids evict(std::size_t n) {
    const PlainArc before = *this;
    Ids out;
    while (out.size() < n) {
      const bool from_t1 = size(t1) >= static_cast<double>(static_cast<std::int64_t>(target_));
      if (!(from_t1 && take(t1, b1, out)) && !take(t2, b2, out)) {
        *this = before;
        return {};
      }
    }
    while (size(b1) > capacity_) b1.pop_front();
    while (size(b2) > capacity_) b2.pop_front();
    return out;
  }

 private:
  static double size(const std::list<std::uint32_t>& l) { return static_cast<double>(l.size()); }
  bool take(std::list<std::uint32_t>& from, std::list<std::uint32_t>& ghosts, Ids& out) {
    for (const std::uint32_t id : from) {
      if (state[id] != State::kIdle) continue;
      out.push_back(id);
      ghosts.push_back(id);
      from.remove(id);
      return true;
    }
    return false;
  }

  double capacity_;
  double target_ = 0;
};

TEST_CASE("vLLM's ARC is its plain version over random histories", "[policies]") {
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Stream random(seed, "vllm-arc");
    const std::uint64_t capacity = 3 + random.below(10);
    Tier tier(capacity);
    PlainArc plain(static_cast<double>(capacity));
    for (int step = 0; step < 400; ++step) {
      const auto id = static_cast<std::uint32_t>(random.below(Tier::kBlocks));
      const auto state = plain.state[id];
      switch (random.below(5)) {
        case 0:
          if (plain.holds(id)) break;
          if (plain.t1.size() + plain.t2.size() == capacity) {
            const Ids victims = plain.evict(1);
            REQUIRE(tier.evict(1) == victims);
            refused += victims.empty() ? 1 : 0;
            if (victims.empty()) break;
          }
          plain.insert(id);
          tier.begin_write(id);
          break;
        case 1:
          if (!plain.holds(id)) break;
          plain.state[id] = PlainArc::State::kIdle;
          tier.end_write({id});
          break;
        case 2:
          if (!plain.holds(id) || state != PlainArc::State::kIdle) break;
          plain.state[id] = PlainArc::State::kRead;
          tier.pin({id});
          break;
        case 3: {
          const std::size_t count = 1 + random.below(3);
          const Ids victims = plain.evict(count);
          REQUIRE(tier.evict(count) == victims);
          refused += victims.empty() ? 1 : 0;
          break;
        }
        default: {
          Ids chain;
          for (std::uint32_t i = 0; i < 4; ++i) chain.push_back((id + i) % Tier::kBlocks);
          plain.touch(chain);
          tier.look_up(chain);
        }
      }
    }
  }
  CHECK(refused > 100);  // it is no rare case
}

}  // namespace
}  // namespace spillway::test
