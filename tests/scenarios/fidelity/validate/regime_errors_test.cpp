// A run that is idle first and saturated then: each part has its own error.
#include "scenarios/fidelity/validate/regime_errors.hpp"

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

/// 50 s, and after a minute 50 in which requests wait.
MeasuredRun idle_then_saturated() {
  MeasuredRun run;
  // One answer of 11 tokens a second, TTFT 0.1 s and 20 ms a token.
  for (int i = 0; i < 100; ++i) {
    const double at = i < 50 ? i : i + 60;
    run.counters.push_back({at, i < 50 ? 1.0 : 200.0, i < 50 ? 0.0 : 20.0, 0.4, 0, 0});
    MeasuredRequest r;
    r.arrival_s = at;
    r.first_token_s = at + 0.1;
    r.last_token_s = at + 0.3;
    r.input_tokens = 100;
    r.output_tokens = 11;
    run.requests.push_back(r);
  }
  return run;
}

TEST_CASE("errors of the idle and of the saturated part do not cancel", "[scenarios]") {
  const MeasuredRun run = idle_then_saturated();
  std::vector<MeasuredRequest> simulated = run.requests;
  // First tokens 20% early while idle and 20% late after: right on average.
  for (MeasuredRequest& r : simulated) r.first_token_s += r.arrival_s < 50 ? -0.02 : 0.02;
  const auto errors = regime_errors(run, {256, 0.0}, run.requests, simulated, 0);
  REQUIRE(errors.size() == 4);
  CHECK(errors.front().regime == Regime::kIdle);
  CHECK(errors.back().regime == Regime::kSaturated);
  for (const RegimeError& e : errors) {
    CHECK(e.requests == 50);
    const bool idle = e.regime == Regime::kIdle;
    const bool first = e.latency == "ttft";
    CHECK(e.measured_ms == Approx(first ? 100 : 20));
    // 10 gaps of 20 ms take 20 ms more or less: 2 ms each.
    CHECK(e.error_percent() == Approx(first ? (idle ? -20 : 20) : (idle ? 10 : -10)));
  }
}

TEST_CASE("a saturated second within an idle minute is no regime", "[scenarios]") {
  MeasuredRun run = idle_then_saturated();
  for (MeasuredCounters& c : run.counters) {
    c.running = 1;
    c.waiting = c.at_s == 40 ? 5 : 0;
  }
  CHECK(regime_errors(run, {256, 0.0}, run.requests, run.requests, 0).empty());
}

TEST_CASE("without counters the request log tells the regimes", "[scenarios]") {
  MeasuredRun run = idle_then_saturated();
  run.counters.clear();
  for (MeasuredRequest& r : run.requests) {
    r.scheduled_s = r.arrival_s;
    if (r.arrival_s < 50) continue;
    r.scheduled_s += 5;  // waits
    r.first_token_s += 5;
    r.last_token_s += 5;
  }
  const auto errors = regime_errors(run, {256, 0.0}, run.requests, run.requests, 0);
  REQUIRE(errors.size() >= 4);
  CHECK(errors.back().regime == Regime::kSaturated);
  CHECK(errors.back().error_percent() == Approx(0));
}

}  // namespace
}  // namespace spillway
