// Workload-aware: what a class's blocks did decides what becomes of the next ones.
#include "sim/units.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/policy_rig.hpp"

namespace spillway {
namespace {

using test::PolicyRig;
using Victims = std::vector<std::uint32_t>;

/// Request 10 * category + turn, of up to 40 categories.
const RequestFacts& some_requests() {
  static const RequestFacts facts = [] {
    RequestFacts out;
    out.session.assign(400, SessionId{});
    out.turn.assign(400, 0);
    out.category.assign(400, 0);
    out.categories = 40;
    for (std::uint32_t i = 0; i < 400; ++i) {
      out.session[RequestId{i}] = SessionId{i / 10};
      out.turn[RequestId{i}] = i % 10;
      out.category[RequestId{i}] = i / 10;
    }
    out.sessions = 40;
    return out;
  }();
  return facts;
}

PolicyRig make(std::string_view policy) {
  EvictionContext context;
  context.requests = &some_requests();
  context.blocks = 100;
  return PolicyRig(policy, 40, context);
}

Access by(std::uint32_t category, std::uint32_t turn, std::int64_t seconds) {
  return {time_at(seconds * 1'000'000'000), RequestId{10 * category + turn}};
}

TEST_CASE("workload-aware: a category whose blocks come back keeps them", "[policies]") {
  PolicyRig rig = make("workload-aware");
  // Of 4 uses by category 0, 3 were followed by another: p = 4/6. Of 4 by category 1 none: 1/6.
  // Nothing of it was resident.
  for (std::uint32_t i = 0; i < 4; ++i) {
    rig.look_up({90}, by(0, 0, i));
    rig.look_up({91 + i}, by(1, 0, i));
  }
  rig.store({1, 2}, by(0, 0, 4));
  rig.store({3, 4}, by(1, 0, 5));
  CHECK(rig.drain(4, by(0, 0, 6)) == Victims{3, 4, 1, 2});
}

TEST_CASE("workload-aware: turns are told apart up to the last", "[policies]") {
  const auto drained = [](std::string_view policy, std::uint32_t turn, std::uint32_t other) {
    PolicyRig rig = make(policy);
    for (std::uint32_t i = 0; i < 4; ++i) {
      rig.look_up({90}, by(0, turn, i));
      rig.look_up({91 + i}, by(0, other, i));
    }
    rig.store({1}, by(0, turn, 4));
    rig.store({2}, by(0, other, 5));
    return rig.drain(2, by(0, 0, 6));
  };
  CHECK(drained("workload-aware", 0, 1) == Victims{2, 1});
  CHECK(drained("workload-aware", 0, 3) == Victims{2, 1});
  CHECK(drained("workload-aware", 3, 9) == Victims{1, 2});  // both are "the fourth or later"
  CHECK(drained("workload-aware:turns=1", 0, 1) == Victims{1, 2});
  CHECK(drained("workload-aware:turns=9", 3, 9) == Victims{2, 1});
}

TEST_CASE("workload-aware: categories beyond the thirty-first share one class", "[policies]") {
  PolicyRig rig = make("workload-aware");
  for (std::uint32_t i = 0; i < 4; ++i) {
    rig.look_up({90}, by(31, 0, i));
    rig.look_up({91 + i}, by(39, 0, i));
  }
  rig.store({1}, by(31, 0, 4));
  rig.store({2}, by(39, 0, 5));
  CHECK(rig.drain(2, by(0, 0, 6)) == Victims{1, 2});
}

TEST_CASE("workload-aware: a time of reuse that is over lowers the odds", "[policies]") {
  PolicyRig rig = make("workload-aware");
  // Both classes: 4 uses, 3 reuses, p = 4/6; after 10 s on average in category 0, 100 s in 1.
  for (std::uint32_t i = 0; i < 4; ++i) {
    rig.look_up({90}, by(0, 0, 10 * i));
  }
  for (std::uint32_t i = 0; i < 4; ++i) {
    rig.look_up({91}, by(1, 0, 30 + 100 * i));
  }
  rig.store({2}, by(1, 0, 340));
  rig.store({1}, by(0, 0, 350));
  // Unused for 60 s: e^-6 of the short times are longer. Unused for 70 s: e^-0.7 of the long ones.
  CHECK(rig.drain(1, by(0, 0, 410)) == Victims{1});
  rig.store({1}, by(0, 0, 410));
  // Now 1 is fresh and likely: 0.67 within the next seconds, against 0.5 and less for 2.
  CHECK(rig.drain(1, by(0, 0, 411)) == Victims{2});
}

TEST_CASE("workload-aware: within a class the least recently used leaves first", "[policies]") {
  PolicyRig rig = make("workload-aware");
  rig.look_up({1, 2, 3}, by(0, 0, 0));
  rig.store({3, 2, 1}, by(0, 0, 0));
  rig.look_up({3}, by(0, 0, 9));
  rig.touch({3}, by(0, 0, 9));
  CHECK(rig.drain(3, by(0, 0, 20)) == Victims{2, 1, 3});
}

TEST_CASE("workload-aware: equal odds go by depth, then by age", "[policies]") {
  PolicyRig rig = make("workload-aware");
  rig.look_up({1, 2}, by(0, 0, 0));
  rig.look_up({3, 4}, by(1, 0, 0));  // both classes: two uses, no reuse, p = 1/4
  rig.store({1}, by(0, 0, 100));
  rig.store({4, 3}, by(1, 0, 101));
  // All unused for 99 or 100 s, in one half-octave: 4 is deeper than 1, then 1 older than 3.
  CHECK(rig.drain(3, by(0, 0, 200)) == Victims{4, 1, 3});
}

TEST_CASE("workload-aware: a block belongs to the class that used it last", "[policies]") {
  PolicyRig rig = make("workload-aware");
  for (std::uint32_t i = 0; i < 4; ++i) {
    rig.look_up({90}, by(0, 0, i));
    rig.look_up({91 + i}, by(1, 0, i));
  }
  rig.store({1}, by(1, 0, 4));
  rig.store({2}, by(1, 0, 5));
  rig.touch({1}, by(0, 0, 6));
  rig->remove(PolicyRig::slots({2}), RemoveCause::kPinned);
  rig.store({3}, by(1, 0, 7));
  rig->add(PolicyRig::slots({2}), by(0, 0, 8));
  CHECK(rig.drain(3, by(0, 0, 9)) == Victims{3, 1, 2});
}

TEST_CASE("workload-aware: output blocks are uses, prompt blocks are not counted twice",
          "[policies]") {
  PolicyRig rig = make("workload-aware");
  const std::vector<BlockId> chain = {BlockId{50}, BlockId{51}, BlockId{52}};
  rig.look_up({50}, by(0, 0, 0));
  rig->on_release(chain, by(0, 0, 1));  // category 0: 3 uses, no reuse: p = 1/5
  rig.look_up({60}, by(1, 0, 1));
  rig.look_up({61}, by(1, 0, 1));  // category 1: 2 uses, p = 1/4
  rig.store({2}, by(1, 0, 2));
  rig.store({1}, by(0, 0, 2));
  CHECK(rig.drain(2, by(0, 0, 3)) == Victims{1, 2});
}

TEST_CASE("workload-aware: slots without a name leave first", "[policies]") {
  PolicyRig rig = make("workload-aware");
  rig.store({1, 2}, by(0, 0, 0));
  rig->add(PolicyRig::slots({8, 9}), by(0, 0, 1));
  rig->touch(PolicyRig::slots({8}), by(0, 0, 2));
  CHECK(rig.drain(4, by(0, 0, 3)) == Victims{9, 8, 1, 2});
}

}  // namespace
}  // namespace spillway
