// What tail-pin and the composition promise, on random histories: against a plain account of tails
// and prefixes, and a plain set of what may leave.
#include <map>
#include <set>

#include "sim/rng.hpp"
#include "tests/support/policy_rig.hpp"
#include "tests/support/session_replay.hpp"

namespace spillway {
namespace {

constexpr std::uint32_t kSlots = 48;
constexpr std::uint32_t kBlocks = 40;  // fewer than slots: some blocks could be there twice
constexpr std::uint32_t kSessions = 6;
constexpr std::int64_t kTtl = 60;

/// Tails of three blocks, prefixes of two. A session not seen for kTtl seconds has no tail.
struct Plain {
  std::map<std::uint32_t, std::pair<std::int64_t, std::vector<BlockId>>> tails;
  std::set<BlockId> resident;
  std::set<std::uint32_t> evictable;

  void hear(std::uint32_t session, std::int64_t now, const std::vector<BlockId>& chain) {
    const std::size_t tail = std::min<std::size_t>(3, chain.size());
    tails[session] = {now, {chain.end() - static_cast<std::ptrdiff_t>(tail), chain.end()}};
    for (std::size_t i = 0; i < 2 && i < chain.size(); ++i) resident.insert(chain[i]);
  }
  bool is_tail(BlockId block, std::int64_t now) const {
    for (const auto& [session, tail] : tails) {
      const auto& [seen, blocks] = tail;
      if (seen + kTtl > now && std::find(blocks.begin(), blocks.end(), block) != blocks.end()) {
        return true;
      }
    }
    return false;
  }
  /// 2: resident, 1: tail, 0: neither, or there is another slot of the same block.
  int worth(std::uint32_t slot, const SlotContents& contents, bool prefixes,
            std::int64_t now) const {
    const BlockId block = contents[SlotId{slot}];
    if (block == kNoBlock) return 0;
    for (const std::uint32_t other : evictable) {
      if (other != slot && contents[SlotId{other}] == block) return 0;
    }
    if (prefixes && resident.count(block) > 0) return 2;
    return is_tail(block, now) ? 1 : 0;
  }
};

void play(const std::string& policy, bool prefixes, std::uint64_t seed) {
  CAPTURE(policy, seed);
  std::vector<std::uint32_t> sessions;
  for (std::uint32_t i = 0; i < 2000; ++i) sessions.push_back(i * 7 % kSessions);
  const RequestFacts facts = test::facts_of_sessions(sessions);
  EvictionContext context;
  context.requests = &facts;
  context.block_tokens = 16;
  context.blocks = kBlocks;
  test::PolicyRig rig(policy, kSlots, context);
  SlotContents& contents = rig.contents();
  Plain plain;
  std::set<std::uint32_t> pinned;
  Stream random(seed, "hold-back");
  // Two layers may keep a copy each of what both hold: only a single layer is played with copies.
  const bool copies = !prefixes;
  const auto is_there = [&](BlockId block) {
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      if (contents[SlotId{slot}] == block) return true;
    }
    return false;
  };
  std::uint64_t victims = 0;
  for (std::uint32_t step = 0; step < 2000; ++step) {
    const Access access{time_at(std::int64_t{step} * 1'000'000'000), RequestId{step}};
    const auto slot = static_cast<std::uint32_t>(random.below(kSlots));
    const std::vector<SlotId> one = {SlotId{slot}};
    const bool evictable = plain.evictable.count(slot) > 0;
    switch (random.below(6)) {
      case 0: {  // a chain whose blocks stand where they always stand: 8 chains of 5
        std::vector<BlockId> chain;
        const auto first = static_cast<std::uint32_t>(5 * random.below(kBlocks / 5));
        const auto length = static_cast<std::uint32_t>(random.below(6));
        for (std::uint32_t i = 0; i < length; ++i) chain.push_back(BlockId{first + i});
        random.chance(0.5) ? rig->on_lookup(chain, access) : rig->on_release(chain, access);
        plain.hear(sessions[step], step, chain);
        break;
      }
      case 1:
      case 2:
        if (evictable) break;
        if (pinned.erase(slot) == 0) {
          const BlockId block{static_cast<std::uint32_t>(random.below(kBlocks))};
          const bool named = random.chance(0.9) && (copies || !is_there(block));
          contents[SlotId{slot}] = named ? block : kNoBlock;
        }
        rig->add(one, access);
        plain.evictable.insert(slot);
        break;
      case 3:
        if (evictable) rig->touch(one, access);
        break;
      case 4: {
        if (!evictable) break;
        const bool pin = random.chance(0.5);
        rig->remove(one, pin ? RemoveCause::kPinned : RemoveCause::kInvalidated);
        plain.evictable.erase(slot);
        if (pin) pinned.insert(slot);
        break;
      }
      default: {
        if (plain.evictable.empty()) break;
        int least = 2;
        for (const std::uint32_t other : plain.evictable) {
          least = std::min(least, plain.worth(other, contents, prefixes, step));
        }
        SlotId victim{};
        rig->pop_victims({&victim, 1}, {}, access);
        REQUIRE(plain.evictable.count(raw(victim)) == 1);
        REQUIRE(plain.worth(raw(victim), contents, prefixes, step) == least);
        plain.evictable.erase(raw(victim));
        contents[victim] = kNoBlock;
        ++victims;
      }
    }
  }
  CHECK(victims > 100);
  const auto rest = rig.drain(plain.evictable.size());
  CHECK(std::set<std::uint32_t>(rest.begin(), rest.end()) == plain.evictable);
}

TEST_CASE("what is held leaves only when nothing else is left, on random histories", "[policies]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    play("tail-pin:tail_tokens=48:ttl_s=60", false, seed);
    play("tail-pin:tail_tokens=48:ttl_s=60:over=fifo", false, seed);
    play("composition:prefix_tokens=32:tail_tokens=48:ttl_s=60", true, seed);
    play("composition:prefix_tokens=32:tail_tokens=48:ttl_s=60:budget_tokens=64", true, seed);
  }
}

}  // namespace
}  // namespace spillway
