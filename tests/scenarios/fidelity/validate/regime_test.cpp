// Made-up runs of each regime, and what decides it.
#include "scenarios/fidelity/validate/regime.hpp"

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

/// 100 samples, one a second.
template <class Sample>
MeasuredRun counted(Sample sample) {
  MeasuredRun run;
  for (int i = 0; i < 100; ++i) {
    MeasuredCounters c = sample(i);
    c.at_s = i;
    run.counters.push_back(c);
  }
  run.requests.resize(100);
  return run;
}

MeasuredCounters at(double running, double waiting, double kv_usage) {
  return {0, running, waiting, kv_usage, 0, 0};
}

Regime regime_of(const MeasuredRun& run, std::optional<double> preemptions = {}) {
  return decide_regime(run, {256, preemptions}).regime;
}

TEST_CASE("few requests at a time and nobody waiting: idle", "[scenarios]") {
  // 8 of 256 slots is the limit: 1/32.
  CHECK(regime_of(counted([](int) { return at(2, 0, 0.05); })) == Regime::kIdle);
  CHECK(regime_of(counted([](int) { return at(8, 0, 0.05); })) == Regime::kIdle);
  CHECK(regime_of(counted([](int) { return at(9, 0, 0.05); })) == Regime::kBusy);
  // Few, but long: half of the pool is no idle engine.
  CHECK(regime_of(counted([](int) { return at(2, 0, 0.6); })) == Regime::kBusy);
}

TEST_CASE("seconds without any request do not make a run idle", "[scenarios]") {
  // 40 run in 20 of 100 samples; the mean over these is 40, over all it would be 8.
  const auto run = counted([](int i) { return i < 20 ? at(40, 0, 0.3) : at(0, 0, 0); });
  CHECK(regime_of(run) == Regime::kBusy);
  CHECK(decide_regime(run, {}).figures.samples == 20);
  CHECK(decide_regime(run, {}).figures.mean_running == Approx(40));
}

TEST_CASE("a queue now and then is busy, one in a quarter of the samples saturated",
          "[scenarios]") {
  CHECK(regime_of(counted([](int i) { return at(60, i % 10 == 0, 0.6); })) == Regime::kBusy);
  CHECK(regime_of(counted([](int i) { return at(60, i % 4 == 0, 0.6); })) == Regime::kSaturated);
  // So are full slots and a full pool, whoever waits.
  CHECK(regime_of(counted([](int) { return at(256, 0, 0.6); })) == Regime::kSaturated);
  CHECK(regime_of(counted([](int) { return at(60, 0, 0.96); })) == Regime::kSaturated);
}

TEST_CASE("a saturated run that throws work away is thrashing", "[scenarios]") {
  const auto run = counted([](int) { return at(40, 20, 0.99); });
  CHECK(regime_of(run) == Regime::kSaturated);
  CHECK(regime_of(run, 0.05) == Regime::kSaturated);  // 5 preemptions in 100 requests
  CHECK(regime_of(run, 0.1) == Regime::kThrashing);
  CHECK_THAT(decide_regime(run, {256, 0.1}).why,
             ContainsSubstring("0.10 preemptions per request (simulated"));
  // The engine's own count goes before the simulated one.
  auto logged = run;
  logged.metrics["preemptions"] = 2;
  CHECK(regime_of(logged, 0.9) == Regime::kSaturated);
}

TEST_CASE("without any count, running that falls while waiting grows tells", "[scenarios]") {
  // Every fifth second three requests fall back into the queue of a full pool.
  const auto run =
      counted([](int i) { return at(i % 5 == 0 ? 37 : 40, i % 5 == 0 ? 23 : 20, 0.99); });
  const RegimeDecision decided = decide_regime(run, {});
  CHECK(decided.figures.falling_share == Approx(0.19));  // 20 times, the first has no neighbour
  CHECK(decided.regime == Regime::kThrashing);
}

TEST_CASE("without counters the request log tells who runs and who waits", "[scenarios]") {
  // One slot: each request runs 1 s, all come at once, so number i waits i seconds.
  MeasuredRun run;
  for (int i = 0; i < 10; ++i) {
    MeasuredRequest r;
    r.scheduled_s = i;
    r.first_token_s = i + 0.1;
    r.last_token_s = i + 1;
    run.requests.push_back(r);
  }
  const auto counters = counters_from_log(run.requests, 10);  // at 0.5, 1.5, ...
  REQUIRE(counters.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(counters[i].running == 1);
    CHECK(counters[i].waiting == static_cast<double>(9 - i));
  }
  const RegimeDecision decided = decide_regime(run, {1, {}});
  CHECK(decided.regime == Regime::kSaturated);
  CHECK_FALSE(decided.figures.from_counters);
  CHECK_THAT(decided.why, ContainsSubstring("KV usage was not counted"));
}

}  // namespace
}  // namespace spillway
