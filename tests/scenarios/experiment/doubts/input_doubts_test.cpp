// What is told of a scenario and its workload before anything runs.
#include "scenarios/experiment/doubts/input_doubts.hpp"

#include "tests/scenarios/run/run_setup.hpp"
#include "tests/traces/trace_text.hpp"

namespace spillway::test {
namespace {

/// 200 prompts of 20,000 tokens, a millisecond apart as read: 20 million prompt tokens/s.
Workload in_seconds() {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += row(std::to_string(i), "20000", "5", fmt::format("[{}]", i % 7));
  }
  return open_bytes_as_trace(text, blocks_of(20'000));
}

std::vector<std::string> codes(const std::vector<std::string>& more, const Workload& workload) {
  std::vector<std::string> out;
  for (const Note& doubt : input_doubts(reference_with(more), workload)) {
    out.push_back(doubt.code);
  }
  return out;
}

TEST_CASE("a clock in seconds is told with the key that scales it", "[scenarios]") {
  const Notes doubts = input_doubts(reference_with(), in_seconds());
  REQUIRE(doubts.size() == 1);
  CHECK(doubts[0].code == "clock-unit");
  CHECK_THAT(doubts[0].text, ContainsSubstring("If they are seconds, set workload.speed=0.001"));
  // Whoever set it, or draws arrivals, has no such clock.
  CHECK(codes({"workload.speed=0.001"}, in_seconds()).empty());
  CHECK(codes({"workload.arrival=poisson", "workload.rate_per_s=2"}, in_seconds()).empty());
}

TEST_CASE("doubts stand in the order of their harm", "[scenarios]") {
  CHECK(codes({R"(slo=[{"metric": "p99_ttft_ms", "max": 2}])"}, in_seconds()) ==
        std::vector<std::string>{"clock-unit", "slo-unit"});
  CHECK(codes({}, repeating(50, 5, 1000, 2)) == std::vector<std::string>{"few-for-percentile"});
  CHECK(codes({}, repeating(200, 5, 1000, 2)).empty());
}

TEST_CASE("concurrency on recorded arrivals is a cap, and said to be", "[scenarios]") {
  const auto noted = [](const std::vector<std::string>& with) {
    return concurrency_note(reference_with(with)).has_value();
  };
  CHECK_FALSE(noted({}));
  CHECK(noted({"workload.concurrency=8"}));
  CHECK(noted({R"(plan.search={"workload.concurrency": [8, 64]})"}));
  CHECK_FALSE(noted({"workload.arrival=closed-loop", "workload.concurrency=8"}));
  CHECK_FALSE(noted({"workload.concurrency=8", "workload.sessions=wait"}));
}

}  // namespace
}  // namespace spillway::test
