// A policy from nothing to a proven one, as policies/README.md walks through it. It lives here and
// not in the catalogue, for nobody should run it: the most recently used leaves first.
#include "models/cache_replay.hpp"
#include "policies/containers/index_list.hpp"
#include "tests/support/engine_run.hpp"
#include "tests/support/naive_tier.hpp"

namespace spillway::test {
namespace {

// Step 1: policies/eviction/mru.cpp. The class sees slots; a parameter spares the newest few.
class Mru final : public EvictionPolicy {
 public:
  Mru(const EvictionContext& context, std::uint64_t spared)
      : order_(context.slots), spared_(spared) {}

  void add(SlotSpan slots, const Access&) override {
    for (const SlotId slot : slots) order_.push_back(raw(slot));
    count_ += slots.size();
  }
  void touch(SlotSpan slots, const Access&) override { order_.move_to_back(slots); }
  void remove(SlotSpan slots, RemoveCause) override {
    for (const SlotId slot : slots) order_.erase(raw(slot));
    count_ -= slots.size();
  }
  void pop_victims(std::span<SlotId> out, BlockSpan, const Access&) override {
    for (SlotId& victim : out) {
      std::uint32_t slot = order_.back();
      for (std::uint64_t i = 0; i < std::min(spared_, count_ - 1); ++i) slot = order_.before(slot);
      order_.erase(slot);
      --count_;
      victim = SlotId{slot};
    }
  }
  void grow(std::uint32_t slots, std::uint32_t) override { order_.grow(slots); }

 private:
  IndexList order_;
  std::uint64_t spared_;
  std::uint64_t count_ = 0;
};

// Step 2: its parameters, each with a range, and a make function. In a file of its own the table is
// `extern const ParamSpec kMruParams[1]; const ParamSpec kMruParams[1] = ...`, for the catalogue.
constexpr ParamSpec kMruParams[] = {{.name = "spared",
                                     .help = "Newest blocks that stay",
                                     .fallback = 0,
                                     .least = 0,
                                     .most = 8,
                                     .kind = ParamSpec::Kind::kWhole}};

std::unique_ptr<EvictionPolicy> make_mru(const EvictionContext& context, const Params& params,
                                         const SourceRef& where) {
  if (params.whole("spared") >= context.capacity) {
    throw InputError(Fault::kUsage, where, "spared: expected less than the tier's capacity");
  }
  return std::make_unique<Mru>(context, params.whole("spared"));
}

// Step 3: its row in policies/catalogue.cpp.
constexpr EvictionEntry kMru = {"mru", "Most recently used leaves first.", make_mru, kMruParams};

EvictionChoice mru(std::string_view given = "") {
  return {kMru, Params(kMru.params, kMru.name, given, {}), {}};
}

// Step 4: its rule, as a history.
TEST_CASE("MRU: the newest leaves first, but for those spared", "[policies]") {
  PolicyRig plain(mru(), 4);
  plain.store({0, 1, 2, 3});
  plain.touch({1});
  CHECK(plain.drain(4) == std::vector<std::uint32_t>{1, 3, 2, 0});

  PolicyRig sparing(mru("spared=1"), 4);
  sparing.store({0, 1, 2, 3});
  CHECK(sparing.drain(2) == std::vector<std::uint32_t>{2, 1});
}

TEST_CASE("MRU: on a cycle one block larger than the cache, every other reference hits",
          "[policies]") {
  // Blocks 0 1 2 over and over, two fit. LRU misses all 12. MRU: 0 and 1 come, 2 pushes 1 out, 0
  // hits, 1 pushes 0 out, 2 hits, 0 pushes 2 out, ...: from then on every other reference hits,
  // numbers 4, 6, 8, 10 and 12.
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 12; ++i) rows.push_back({i, 16, 1, {i % 3}});
  const Workload workload = workload_of(rows, 16);
  const auto hits = [&](const EvictionChoice& policy) {
    return replay_cache(workload, policy, 2, TouchOrder::kForward, Atomicity::kReference)
        .block_hits;
  };
  CHECK(hits(parse_eviction("lru", {})) == 0);
  CHECK(hits(mru()) == 5);
}

// Step 5: nothing more to write. Once the row is in the catalogue, conformance, the oracle loops,
// `spillway list policies`, help and error texts read it; here it is called by hand.
TEST_CASE("MRU conforms", "[policies]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    NaiveTier tier(mru("spared=2"), seed);
    tier.run(500);
    tier.drain();
  }
}

}  // namespace
}  // namespace spillway::test
