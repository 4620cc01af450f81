// SLO targets that can hardly be meant: another unit, no request, too few requests.
#include "scenarios/experiment/doubts/slo_doubts.hpp"

#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

Scenario with_slo(const std::string& slo) {
  return reference_with({"slo=[" + slo + "]"});
}

/// Doubts of one target; prompts of 512 tokens that nobody repeats take 12.24 ms, a decode step 2.
Notes doubts(const std::string& metric, double max) {
  const Scenario s = with_slo(fmt::format(R"({{"metric": "{}", "max": {}}})", metric, max));
  return slo_in_seconds(s, repeating(200, 200, 1000, 20));
}

TEST_CASE("an idle server's times are those of prompts that no cache holds", "[scenarios]") {
  // Steps of 2 ms + 20 us a token + 5 ns for each token in context.
  const Scenario s = with_slo(R"({"metric": "p99_ttft_ms", "max": 4})");
  const IdleTimes idle(s, repeating(200, 200, 1000, 20));
  CHECK(idle.ttft_ms(0.99) == Approx(2 + 512 * 0.02 + 512 * 5e-6));
  CHECK(idle.step_ms() == Approx(2 + 0.02 + 513 * 5e-6));
  // Two documents in turn: all but the first two prompts are cached but for one token.
  CHECK(IdleTimes(s, repeating(200, 2, 1000, 20)).ttft_ms(0.5) == Approx(2 + 0.02 + 512 * 5e-6));
}

TEST_CASE("a limit in seconds is doubted where milliseconds are out of reach", "[scenarios]") {
  const auto said = doubts("p99_ttft_ms", 0.5);
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0].text,
             ContainsSubstring("slo.0.max: max 0.5 of p99_ttft_ms is 0.5 ms, and an idle server "
                               "takes 12.2 ms. If 0.5 s are meant, write 500."));
  CHECK(doubts("p99_tpot_ms", 0.05).size() == 1);
}

TEST_CASE("a limit that may be meant is not doubted", "[scenarios]") {
  CHECK(doubts("p99_ttft_ms", 4).empty());     // hard, but not out of reach by 20 times
  CHECK(doubts("p99_ttft_ms", 2000).empty());  // usual
  CHECK(doubts("p99_ttft_ms", 0.01).empty());  // nor would 10 ms be met
  CHECK(doubts("p99_tpot_ms", 1).empty());     // half of a step
  // A minimum has no unit of time.
  const Scenario rate = with_slo(R"({"metric": "request_throughput", "min": 0.001})");
  CHECK(slo_in_seconds(rate, repeating(200, 200, 1000, 20)).empty());
}

TEST_CASE("a target that is about no request is refused", "[scenarios]") {
  const auto refusal = [](const std::string& slo, const Workload& workload) {
    const Scenario s = with_slo(slo);
    const InputError error = error_of([&] { check_slo_applies(s, workload); });
    CHECK(error.fault() == Fault::kUsage);
    return std::string(error.what());
  };
  const std::string tpot = R"({"metric": "p99_tpot_ms", "max": 50})";
  CHECK_THAT(refusal(tpot, repeating(20, 2, 100, 1)),
             ContainsSubstring("slo.0.metric: p99_tpot_ms is about no request: every answer is "
                               "one token"));
  CHECK_THAT(refusal(R"({"metric": "p99_itl_ms", "max": 50})", repeating(20, 2, 100, 1)),
             ContainsSubstring("p99_itl_ms is about no request"));
  check_slo_applies(with_slo(tpot), repeating(20, 2, 100, 2));
  // Tenant "b" answers in one token each.
  const Workload tenants =
      workload_of({{0, 512, 5, {1}, "a"}, {100, 512, 1, {2}, "b"}, {200, 512, 1, {3}, "b"}}, 512);
  CHECK_THAT(refusal(R"({"metric": "p99_tpot_ms", "max": 50, "tenant": "b"})", tenants),
             ContainsSubstring("slo.0.tenant: p99_tpot_ms is about no request: tenant \"b\""));
  CHECK_THAT(refusal(R"({"metric": "p99_decode_cold_blocks_per_token", "max": 5})",
                     repeating(20, 2, 100, 5)),
             ContainsSubstring("counts cold reads, and this engine makes none"));
}

TEST_CASE("a percentile that no request lies above is told", "[scenarios]") {
  const Scenario s =
      with_slo(R"({"metric": "p99_ttft_ms", "max": 500}, {"metric": "p90_ttft_ms", "max": 300})");
  CHECK(few_for_percentile(s, repeating(50, 5, 100, 2))->text ==
        "p99_ttft_ms rests on 50 requests: not one lies above it. Record 2,000 requests or more, "
        "or ask for the median.");
  CHECK_FALSE(few_for_percentile(s, repeating(100, 5, 100, 2)));
  // Of a plan its replicates count, where the scenario cuts them short.
  const Scenario cut = reference_with({"plan.replications=5", "workload.replication.requests=60"});
  CHECK(few_for_percentile(cut, repeating(5000, 5, 100, 2))->text ==
        "p99_ttft_ms rests on 60 requests: not one lies above it. Set "
        "workload.replication.requests to 2000 or more, or ask for the median.");
}

}  // namespace
}  // namespace spillway::test
