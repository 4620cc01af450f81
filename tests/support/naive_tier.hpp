// A small tier without any cleverness: it knows which slots are free, pinned or evictable, tells a
// policy so through random histories, and checks every victim.
#pragma once

#include <set>
#include <vector>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/policy_rig.hpp"

namespace spillway::test {

inline constexpr std::uint32_t kRequests = 1000;

/// 20 sessions in 3 categories, taking turns.
inline const RequestFacts& some_requests() {
  static const RequestFacts facts = [] {
    RequestFacts out;
    out.session.assign(kRequests, SessionId{});
    out.turn.assign(kRequests, 0);
    out.category.assign(kRequests, 0);
    out.sessions = 20;
    out.categories = 3;
    out.sessions_named = true;
    for (std::uint32_t i = 0; i < kRequests; ++i) {
      out.session[RequestId{i}] = SessionId{i % 20};
      out.turn[RequestId{i}] = i / 20;
      out.category[RequestId{i}] = i % 20 % 3;
    }
    return out;
  }();
  return facts;
}

/// Parameters that fit a tier of 48 blocks, where a policy's own are for large ones.
inline EvictionContext small_tier() {
  EvictionContext context;
  context.requests = &some_requests();
  context.block_tokens = 512;
  return context;
}

/// Histories hold pins, releases, invalidations, unnamed and doubled blocks and leaps of time. A
/// tier in which each slot is free, pinned or evictable, and a policy that is told so.
class NaiveTier {
 public:
  static constexpr std::uint32_t kSlots = 48;
  static constexpr std::uint32_t kBlocks = 400;

  NaiveTier(const EvictionChoice& policy, std::uint64_t seed)
      : random_(seed, "policy-history"), rig_(policy, kSlots, context()) {
    for (std::uint32_t i = 0; i < kSlots; ++i) free_.insert(i);
  }

  /// The victims in the order in which they were named.
  const std::vector<std::uint32_t>& victims() const { return victims_; }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      now_ += static_cast<std::int64_t>(random_.below(2'000'000'000));
      if (random_.chance(0.02)) now_ += 3'600'000'000'000;  // an hour without anybody
      const Access access{time_at(now_), RequestId{static_cast<std::uint32_t>(i) % kRequests}};
      switch (random_.below(8)) {
        case 0:
          invalidate();
          break;
        case 1:
          pop(random_.below(4), random_.chance(0.5), access);
          break;
        case 2:
          release_some(access);
          break;
        default:
          serve(access);
      }
    }
  }
  /// Everything that is left, exactly once.
  void drain() {
    const std::set<std::uint32_t> expected = evictable_;
    std::set<std::uint32_t> named;
    const std::size_t before = victims_.size();
    pop(evictable_.size(), false, {time_at(now_), RequestId{0}});
    for (std::size_t i = before; i < victims_.size(); ++i) named.insert(victims_[i]);
    REQUIRE(named == expected);
  }

 private:
  static EvictionContext context() {
    EvictionContext out = small_tier();
    out.blocks = kBlocks;
    return out;
  }

  /// Chains branch: block b's parent is (b - 1) / 3, so that a block has one chain.
  std::vector<BlockId> some_chain() {
    auto block = static_cast<std::uint32_t>(random_.below(kBlocks));
    if (random_.chance(0.5)) block /= 8;  // some are popular
    std::vector<BlockId> out;
    for (;; block = (block - 1) / 3) {
      out.insert(out.begin(), BlockId{block});
      if (block == 0) return out;
    }
  }

  void serve(const Access& access) {
    const std::vector<BlockId> chain = some_chain();
    if (rig_.policy().wants_chains()) rig_.policy().on_lookup(chain, access);
    std::vector<SlotId> found;
    std::vector<BlockId> missing;
    const bool by_touch = random_.chance(0.5);  // as a tier below does, or pinned as HBM does
    for (std::size_t i = chain.size(); i-- > 0;) {
      const std::uint32_t slot = slot_of(chain[i]);
      if (slot == kSlots) {
        missing.push_back(chain[i]);
      } else if (evictable_.count(slot) > 0) {
        found.push_back(SlotId{slot});
      }
    }
    if (!found.empty() && by_touch) {
      rig_.policy().touch(found, access);
    } else if (!found.empty()) {
      pin(found);
    }
    for (const BlockId block : missing) {
      const bool named = random_.chance(0.8);
      if (free_.empty()) {
        if (evictable_.empty()) return;
        pop_one(named ? BlockSpan{&block, 1} : BlockSpan{}, access);
      }
      const std::uint32_t slot = *free_.begin();
      free_.erase(free_.begin());
      // One in five stays without a name, as a block that is not full does.
      rig_.contents()[SlotId{slot}] = named ? block : kNoBlock;
      if (random_.chance(0.5)) {
        pinned_.push_back(slot);
      } else {
        add({SlotId{slot}}, access);
      }
    }
    if (random_.chance(0.1) && !missing.empty() && !free_.empty()) {
      // The same block once more, as an aligned full hit recomputes its last block.
      const std::uint32_t slot = *free_.begin();
      free_.erase(free_.begin());
      rig_.contents()[SlotId{slot}] = missing.front();
      add({SlotId{slot}}, access);
    }
    if (rig_.policy().wants_chains() && random_.chance(0.5)) {
      std::vector<BlockId> longer = chain;
      longer.push_back(BlockId{kBlocks - 1});
      rig_.policy().on_release(longer, access);
    }
  }

  std::uint32_t slot_of(BlockId block) {
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      if (free_.count(i) == 0 && rig_.contents()[SlotId{i}] == block) return i;
    }
    return kSlots;
  }
  void pin(const std::vector<SlotId>& slots) {
    rig_.policy().remove(slots, RemoveCause::kPinned);
    for (const SlotId slot : slots) {
      evictable_.erase(raw(slot));
      pinned_.push_back(raw(slot));
    }
  }
  void add(const std::vector<SlotId>& slots, const Access& access) {
    rig_.policy().add(slots, access);
    for (const SlotId slot : slots) evictable_.insert(raw(slot));
  }
  void release_some(const Access& access) {
    std::vector<SlotId> slots;
    for (std::uint64_t n = random_.below(6); n > 0 && !pinned_.empty(); --n) {
      const std::size_t at = random_.below(pinned_.size());
      slots.push_back(SlotId{pinned_[at]});
      pinned_.erase(pinned_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    if (!slots.empty()) add(slots, access);
  }
  void invalidate() {
    if (evictable_.empty()) return;
    auto at = evictable_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random_.below(evictable_.size())));
    const SlotId slot{*at};
    rig_.policy().remove({&slot, 1}, RemoveCause::kInvalidated);
    evictable_.erase(at);
    free_.insert(raw(slot));
    rig_.contents()[slot] = kNoBlock;
  }
  void pop(std::size_t count, bool in_one_call, const Access& access) {
    count = std::min(count, evictable_.size());
    if (!in_one_call) {
      for (; count > 0; --count) pop_one({}, access);
      return;
    }
    if (count == 0) return;
    std::vector<SlotId> out(count);
    rig_.policy().pop_victims(out, {}, access);
    for (const SlotId victim : out) take(victim);
  }
  void pop_one(BlockSpan incoming, const Access& access) {
    SlotId victim{};
    rig_.policy().pop_victims({&victim, 1}, incoming, access);
    take(victim);
  }
  void take(SlotId victim) {
    REQUIRE(evictable_.erase(raw(victim)) == 1);
    free_.insert(raw(victim));
    rig_.contents()[victim] = kNoBlock;
    victims_.push_back(raw(victim));
  }

  Stream random_;
  PolicyRig rig_;
  std::int64_t now_ = 0;
  std::set<std::uint32_t> free_, evictable_;
  std::vector<std::uint32_t> pinned_;
  std::vector<std::uint32_t> victims_;
};

}  // namespace spillway::test
