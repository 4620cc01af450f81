// Lease order, with soft pins. Blocks of 16 tokens, leases of 10 s, soft pins of 1,800 s.
#include "sim/units.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/policy_rig.hpp"

namespace spillway {
namespace {

using test::PolicyRig;
using Victims = std::vector<std::uint32_t>;

Access at(std::int64_t seconds) {
  return {time_at(seconds * 1'000'000'000), RequestId{}};
}

PolicyRig make(std::string_view policy) {
  EvictionContext context;
  context.block_tokens = 16;
  return PolicyRig(policy, 16, context);
}

TEST_CASE("lease: a look-up renews, even where nothing is used", "[policies]") {
  PolicyRig rig = make("lease");
  rig.store({1, 2, 3, 4}, at(0));
  rig.look_up({1, 9, 3}, at(5));  // 1 and 3 until 15 s, 9 is not here; 2 and 4 until 10 s
  rig.touch({2}, at(6));          // until 16 s
  // In order of their ends; 3 stands behind 1 in the chain.
  CHECK(rig.drain(4, at(20)) == Victims{4, 3, 1, 2});
}

TEST_CASE("lease: what is pinned is not renewed by a look-up, but by its release", "[policies]") {
  PolicyRig rig = make("lease");
  rig.store({1, 2}, at(0));
  rig->remove(PolicyRig::slots({1}), RemoveCause::kPinned);
  rig.look_up({1}, at(1));
  CHECK(rig.drain(1, at(1)) == Victims{2});
  rig->add(PolicyRig::slots({1}), at(30));
  rig.store({2}, at(31));
  CHECK(rig.drain(2, at(60)) == Victims{1, 2});
}

TEST_CASE("lease: soft-pinned blocks are taken in the second pass", "[policies]") {
  PolicyRig rig = make("lease:soft_pin_tokens=16");
  rig.look_up({1, 2});
  rig.look_up({3, 4});
  rig.store({2, 1}, at(0));  // 1 soft-pinned
  rig.store({4, 3}, at(5));  // 3 soft-pinned
  // At 20 s all leases are over. First pass 2, 4 (ends 10, 15), second 1, 3.
  CHECK(rig.drain(4, at(20)) == Victims{2, 4, 1, 3});
}

TEST_CASE("lease: a soft-pinned block without a lease goes before a plain one with one",
          "[policies]") {
  PolicyRig rig = make("lease:soft_pin_tokens=16");
  rig.look_up({1, 2});
  rig.store({1}, at(0));                      // soft-pinned, until 10 s
  rig.store({2}, at(5));                      // until 15 s
  CHECK(rig.drain(1, at(10)) == Victims{1});  // only its lease is over: 10 <= 10
}

TEST_CASE("lease: while all leases run, the soonest to end goes, soft-pinned or not",
          "[policies]") {
  PolicyRig rig = make("lease:soft_pin_tokens=16");
  rig.look_up({1, 2});
  rig.look_up({3, 4});
  rig.store({1}, at(0));
  rig.store({4, 2, 3}, at(1));
  // At 2 s: 1 ends at 10; 4, 2 and 3 at 11, of which 3 is soft-pinned.
  CHECK(rig.drain(4, at(2)) == Victims{1, 4, 2, 3});
}

TEST_CASE("lease: a soft pin that is over protects no longer", "[policies]") {
  PolicyRig rig = make("lease:soft_pin_tokens=16:soft_pin_s=60");
  rig.look_up({1, 2});
  rig.look_up({3, 4});
  rig.store({1}, at(0));   // soft-pinned until 60 s
  rig.store({3}, at(30));  // soft-pinned until 90 s
  rig.store({2}, at(35));
  rig.store({4}, at(40));
  // At 70 s all leases are over, and 1 is plain again, with the oldest lease; 3 is not.
  CHECK(rig.drain(2, at(70)) == Victims{1, 2});
  CHECK(rig.drain(2, at(89)) == Victims{4, 3});
}

TEST_CASE("lease: a look-up renews a soft pin as well", "[policies]") {
  PolicyRig rig = make("lease:soft_pin_tokens=16:soft_pin_s=60");
  rig.look_up({1, 2});
  rig.store({2, 1}, at(0));
  rig.look_up({1}, at(50));  // soft-pinned until 110 s
  rig.look_up({3}, at(60));
  rig.store({3}, at(60));  // until 120 s
  rig.look_up({4}, at(61));
  rig.store({4}, at(61));
  CHECK(rig.drain(1, at(100)) == Victims{2});  // the others are soft-pinned
  CHECK(rig.drain(3, at(115)) == Victims{1, 3, 4});
}

TEST_CASE("lease: slots without a name leave first, one block may be in two slots", "[policies]") {
  PolicyRig rig = make("lease");
  rig.store({1}, at(0));
  rig->add(PolicyRig::slots({9}), at(1));  // no name
  rig.contents()[SlotId{5}] = BlockId{1};  // block 1 again
  rig->add(PolicyRig::slots({5}), at(2));
  rig.look_up({1}, at(3));  // renews the newer copy, slot 5
  CHECK(rig.drain(3, at(50)) == Victims{9, 1, 5});
}

}  // namespace
}  // namespace spillway
