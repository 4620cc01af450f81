// What every policy of the catalogue must do: random histories of a small tier, with pins,
// releases, invalidations, unnamed and doubled blocks and leaps of time, against a naive account of
// which slots are evictable. Each policy's own rule is tested in eviction/.
#include "tests/support/naive_tier.hpp"

namespace spillway {
namespace {

using test::NaiveTier;
using test::PolicyRig;

TEST_CASE("every policy names each evictable slot exactly once, and equal histories agree",
          "[policies]") {
  for (const EvictionEntry& entry : eviction_policies()) {
    if (entry.needs.future) continue;  // its history must be the one it was made for
    CAPTURE(entry.name);
    const EvictionChoice policy = parse_eviction(entry.name, {});
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      CAPTURE(seed);
      NaiveTier first(policy, seed);
      NaiveTier second(policy, seed);
      for (NaiveTier* tier : {&first, &second}) {
        tier->run(500);
        tier->drain();
        tier->run(50);  // and goes on as if new
        tier->drain();
      }
      REQUIRE(first.victims() == second.victims());
    }
  }
}

TEST_CASE("every policy conforms with each parameter at its ends", "[policies]") {
  for (const EvictionEntry& entry : eviction_policies()) {
    if (entry.needs.future) continue;
    for (const ParamSpec& spec : entry.params) {
      if (spec.kind == ParamSpec::Kind::kText) continue;
      for (const double value : {spec.least, spec.most}) {
        const std::string text = fmt::format("{}:{}={}", entry.name, spec.name, value);
        CAPTURE(text);
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
          try {
            NaiveTier tier(parse_eviction(text, {}), seed);
            tier.run(300);
            tier.drain();
          } catch (const InputError&) {
            break;  // what does not fit so small a tier is refused, which is fine
          }
        }
      }
    }
  }
}

TEST_CASE("a policy that grows orders slots as one that was large from the start", "[policies]") {
  for (const EvictionEntry& entry : eviction_policies()) {
    if (entry.needs.future) continue;
    CAPTURE(entry.name);
    EvictionContext context = test::small_tier();
    context.capacity = 64;  // what a tier may come to hold is known from the start
    PolicyRig large(entry.name, 64, context);
    PolicyRig grown(entry.name, 4, context);
    Stream random(5, "policy-grow");
    std::uint32_t slots = 0;
    for (int step = 0; step < 64; ++step) {
      if (slots == 4 || slots == 16) grown.grow(4 * slots);
      const std::vector<SlotId> fresh = {SlotId{slots++}};
      const std::vector<SlotId> used = {SlotId{static_cast<std::uint32_t>(random.below(slots))}};
      for (PolicyRig* rig : {&large, &grown}) {
        EvictionPolicy& policy = rig->policy();
        rig->contents()[fresh.front()] = BlockId{raw(fresh.front())};
        policy.add(fresh, {});
        policy.touch(used, {});
        if (step % 5 == 4) {  // a pin, while the order matters
          policy.remove(used, RemoveCause::kPinned);
          policy.add(used, {});
        }
      }
    }
    CHECK(grown.drain(64) == large.drain(64));
  }
}

}  // namespace
}  // namespace spillway
