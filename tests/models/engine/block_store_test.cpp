// The tier below HBM by itself: what a policy that orders everything is told, and may refuse.
#include "models/engine/stores/block_store.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

constexpr std::uint32_t kBlocks = 20;

struct Rig {
  BlockStore tier;

  Rig(std::uint64_t capacity, std::string_view eviction)
      : tier({capacity, kBlocks}, parse_eviction(eviction, {}), context()) {}
  static EvictionContext context() {
    EvictionContext out;
    out.blocks = kBlocks;
    return out;
  }
  SlotId slot(std::uint32_t block) {
    const BlockPlace at = tier.place(BlockId{block});
    return at.here() ? at.slot() : kNoSlot;
  }
  bool store(std::initializer_list<std::uint32_t> blocks, bool ends = true) {
    std::vector<BlockId> fresh;
    for (const std::uint32_t block : blocks) fresh.push_back(BlockId{block});
    if (!tier.make_room(fresh, {}, {})) return false;
    std::vector<SlotId> slots;
    tier.begin_write(fresh, slots);
    if (ends) tier.end_write(slots, {});
    return true;
  }
  void look_up(std::uint32_t block) {
    const BlockId name{block};
    const SlotId at = slot(block);
    tier.touch_all({&name, 1}, {&at, 1});
  }
};

TEST_CASE("section 9, case 4: a store is refused though T1 has candidates", "[models]") {
  // Three slots. Block 0 left T1 for block 3; two look-ups for it raise T1's target to 2. Block 1
  // alone is left in T1 and idle, 2 and 3 are in T2 and being read: T1 is below its target, T2 has
  // none to give, so nothing is evicted and block 4 stays out. LRU evicts block 1.
  for (const std::string_view eviction : {"vllm-arc", "lru"}) {
    CAPTURE(eviction);
    Rig rig(3, eviction);
    REQUIRE(rig.store({0, 1, 2}));
    REQUIRE(rig.store({3}));
    REQUIRE(rig.slot(0) == kNoSlot);
    const std::vector<SlotId> read = {rig.slot(2), rig.slot(3)};
    if (rig.tier.orders_all()) {
      rig.look_up(2);
      rig.look_up(3);
      rig.look_up(0);
      rig.look_up(0);
    }
    rig.tier.begin_read(read);
    CHECK(rig.tier.evictable() == 1);
    CHECK(rig.store({4}) == (eviction == "lru"));
    CHECK((rig.slot(1) == kNoSlot) == (eviction == "lru"));
    rig.tier.end_read(read, {});
    rig.tier.check_drained();
  }
}

TEST_CASE("what a batch offers again is spared, even by a policy that orders everything",
          "[models]") {
  // Both slots are idle. Block 2 comes in a batch that offers block 0 again: block 1 leaves, though
  // 0 is the older.
  for (const std::string_view eviction : {"vllm-arc", "lru"}) {
    CAPTURE(eviction);
    Rig rig(2, eviction);
    REQUIRE(rig.store({0, 1}));
    const BlockId fresh{2};
    const SlotId offered = rig.slot(0);
    CHECK(rig.tier.make_room({&fresh, 1}, {&offered, 1}, {}));
    CHECK(rig.slot(1) == kNoSlot);
    CHECK(rig.slot(0) == offered);
  }
}

TEST_CASE("a look-up for what has left is no repetition of the one before", "[models]") {
  // The version tells who looks again at every step whether that changes anything. Of what is here
  // the second look-up leaves all as the first did; of a ghost each one moves the target.
  Rig rig(1, "vllm-arc");
  REQUIRE(rig.store({0}));
  const auto changes = [&](std::uint32_t block) {
    rig.look_up(block);
    const std::uint64_t version = rig.tier.version();
    rig.tier.end_lookups(false);
    return rig.tier.version() != version;
  };
  CHECK_FALSE(changes(0));
  REQUIRE(rig.store({1}));
  CHECK(changes(0));
  CHECK(changes(0));
  CHECK_FALSE(changes(1));
}

TEST_CASE("a store tells why blocks left", "[models]") {
  // Three slots. Block 0 makes room for 3, a trim takes 1, and 2 moves to a neighbour while it is
  // read twice: it leaves with the second read. Causes add up to what left.
  Rig rig(3, "lru");
  REQUIRE(rig.store({0, 1, 2}));
  REQUIRE(rig.store({3}));
  CHECK(rig.tier.dropped(DropCause::kRoom) == 1);
  rig.tier.trim(1, {});
  CHECK(rig.slot(1) == kNoSlot);
  CHECK(rig.tier.dropped(DropCause::kTrimmed) == 1);
  std::vector<SlotId> moving;
  rig.tier.begin_leaving(1, {}, {}, {}, moving);
  REQUIRE(moving == std::vector<SlotId>{rig.slot(2)});
  rig.tier.begin_read(moving);
  rig.tier.end_read(moving, {});
  CHECK(rig.slot(2) != kNoSlot);
  CHECK(rig.tier.leaving() == 1);
  rig.tier.end_read(moving, {});
  CHECK(rig.slot(2) == kNoSlot);
  CHECK(rig.tier.dropped(DropCause::kMoved) == 1);
  CHECK(rig.tier.evictions() == 3);
  rig.tier.check_drained();
}

}  // namespace
}  // namespace spillway::test
