// Where a run's warm-up ends: runs told request by request, and small real ones.
#include "scenarios/experiment/warm_up.hpp"

#include <cmath>

#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

using Texts = std::vector<std::string>;

constexpr std::int64_t kSecond = 1'000'000'000;

/// A run of 1,000 requests, one every 10 s, whose tier of 1,000 blocks holds what `level` says and
/// whose prompts of 100 tokens find what `cached` says, by seconds.
template <class Level, class Cached>
WarmUp told(Level level, Cached cached, const Texts& set = {}) {
  Texts assignments = {"tiers.0.capacity=1000blocks", "engine.num_gpu_blocks=101"};
  assignments.insert(assignments.end(), set.begin(), set.end());
  WarmUpWatch watch(reference_with(assignments));
  std::uint32_t resident = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const double at_s = 10.0 * i;
    const auto now = static_cast<std::uint32_t>(level(at_s));
    watch.on_tier_change({time_at(10 * kSecond * i), 1, now - resident, 0, now, now});
    resident = now;
    RequestRecord record;
    record.request = RequestId{i};
    record.due = record.arrival = record.scheduled = time_at(10 * kSecond * i);
    record.input_tokens = 100;
    record.cached_tokens[1] = static_cast<std::uint32_t>(cached(at_s));
    watch.on_request(record);
  }
  return find_warm_up(watch);
}

/// Filled at a constant rate until it is full after `full_s`.
auto filling(double full_s) {
  return [=](double at_s) { return std::min(1000.0, 1000 * at_s / full_s); };
}
double steady(double at_s) {  // 50 +- 10, around and around
  return 50 + 10 * std::sin(at_s);
}
double warming(double at_s) {  // until about 1,500 s
  return steady(at_s) * (1 - std::exp(-at_s / 500));
}
double rising(double at_s) {
  return 10 + 80 * at_s / 10'000;
}

TEST_CASE("a full tier is the floor of the warm-up", "[scenarios]") {
  const WarmUp found = told(filling(2000), steady);
  CHECK_FALSE(found.cold_limited);
  REQUIRE(found.floor);
  CHECK(seconds_of(found.end) == Approx(1900).margin(1));  // 95% of the blocks
  CHECK(seconds_of(*found.floor) == Approx(1900).margin(1));
  CHECK(found.bins >= 200);  // and what is left over
  CHECK(found.bins <= 201);
  CHECK(found.requests == 1000);
  CHECK_THAT(found.note, ContainsSubstring("dram was full after 1900 s"));
}

TEST_CASE("a hit ratio that rises behind the floor moves the end", "[scenarios]") {
  const WarmUp found = told(filling(500), warming);
  CHECK_FALSE(found.cold_limited);
  INFO(found.note);
  CHECK(seconds_of(found.end) > 700);
  CHECK(seconds_of(found.end) < 3000);
}

TEST_CASE("a tier that is never full is cold while the hit ratio rises, and not once it stands",
          "[scenarios]") {
  const WarmUp rises = told(filling(1e6), rising);
  CHECK(rises.cold_limited);
  CHECK_THAT(rises.note, StartsWith(kColdLimited));
  CHECK_THAT(rises.note, ContainsSubstring("dram was never full"));
  const WarmUp stands = told(filling(1e6), steady);
  CHECK_FALSE(stands.cold_limited);
  CHECK_FALSE(stands.floor);
  CHECK_THAT(stands.note, ContainsSubstring("never full"));
  CHECK(seconds_of(stands.end) < 2500);
  // Full at last, but far too late to measure anything behind it.
  CHECK(told(filling(9000), rising).cold_limited);
  // The same rise with a tier that was full: a day that changes, not a cold cache.
  CHECK_FALSE(told(filling(1000), rising).cold_limited);
}

TEST_CASE("a calm beginning of the loads is left out, a burst is not", "[scenarios]") {
  // The hit ratio stands from the first request on; loads take 0.1 s each, but for the first 3,000
  // s of 10,000: 0.02 s (nothing there yet), or 5 s (a burst).
  for (const double first_s : {0.02, 5.0}) {  // to be found within a mean of five bins, 250 s
    WarmUpWatch watch(reference_with({"tiers.0.capacity=1000blocks"}));
    watch.on_tier_change({time_at(kSecond), 1, 1000, 0, 1000, 1000});
    for (std::uint32_t i = 0; i < 1000; ++i) {
      const Time now = time_at(10 * kSecond * i);
      RequestRecord record;
      record.request = RequestId{i};
      record.due = record.arrival = record.scheduled = now;
      record.input_tokens = 100;
      record.cached_tokens[1] = 50;
      watch.on_request(record);
      TransferRecord load;
      load.link = 1;  // up
      load.submitted = load.started = now;
      load.ended = now + Duration(static_cast<std::int64_t>((i < 300 ? first_s : 0.1) * 1e9));
      watch.on_transfer(load);
    }
    const WarmUp found = find_warm_up(watch);
    CHECK(seconds_of(found.end) == Approx(first_s < 0.1 ? 3125 : 1).margin(130));
  }
}

TEST_CASE("a run without hits is as warm as it gets", "[scenarios]") {
  const WarmUp found = told(filling(1e6), [](double) { return 0.0; });
  CHECK_FALSE(found.cold_limited);
  CHECK(found.end == Time{});
}

TEST_CASE("a warm-up that is given is taken", "[scenarios]") {
  const WarmUp found = told(filling(1e6), rising, {"workload.replication.warmup_s=1234.5"});
  CHECK_FALSE(found.cold_limited);
  CHECK(seconds_of(found.end) == Approx(1234.5));
  CHECK(found.note == "the first 1234.5 s are left out, as given");
}

TEST_CASE("few requests say nothing about a tier that is never full", "[scenarios]") {
  // 100 requests are 20 bins: four means of five.
  const Scenario scenario = reference_with({"tiers.0.capacity=inf"});
  WarmUpWatch watch(scenario);
  SimulationOptions options;
  options.observers.push_back(&watch);
  simulate(scenario, repeating(100, 10, 100, 4), options);
  const WarmUp found = find_warm_up(watch);
  CHECK(found.cold_limited);
  CHECK_THAT(found.note, ContainsSubstring("too few for MSER-5"));
}

TEST_CASE("a run over a small tier is warm once it was full, and loads count as waiting",
          "[scenarios]") {
  // 2,000 requests over 300 documents of 32 blocks each: 9,600 blocks, of which HBM holds 2,047 and
  // the tier 3,000. LRU over a cycle finds nothing; over the hundred documents it does.
  const Scenario scenario = reference_with({"tiers.0.capacity=3000blocks"});
  for (const std::uint64_t documents : {300UL, 100UL}) {
    WarmUpWatch watch(scenario);
    SimulationOptions options;
    options.observers.push_back(&watch);
    const auto run = simulate(scenario, repeating(2000, documents, 100, 4), options).result;
    const WarmUp found = find_warm_up(watch);
    INFO(documents << " documents: " << found.note);
    CHECK_FALSE(found.cold_limited);
    CHECK(found.requests == 2000);
    // Every prompt enters 32 blocks, so that the tier is full within 100 prompts, 10 s.
    REQUIRE(found.floor);
    CHECK(seconds_of(*found.floor) < 12);
    CHECK(seconds_of(found.end) < 100);
    CHECK(run.completed == 2000);
  }
}

}  // namespace
}  // namespace spillway::test
