// A simulation as its own engine would have logged it.
#include "scenarios/fidelity/validate/observed_run.hpp"

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

StepRecord step(int start_ms, int end_ms, std::uint32_t running, std::uint32_t waiting,
                std::uint32_t engine = 0) {
  StepRecord r;
  r.start = Time(std::chrono::milliseconds(start_ms));
  r.end = Time(std::chrono::milliseconds(end_ms));
  r.running = running;
  r.waiting = waiting;
  r.engine = engine;
  return r;
}

TEST_CASE("counters are those of the step under way, and none between steps", "[scenarios]") {
  ObservedRun observed;
  observed.on_step(step(0, 1000, 3, 2));
  observed.on_step(step(1000, 1500, 4, 1));
  observed.on_step(step(3000, 3500, 1, 0));
  TierChange change;
  change.now = Time(std::chrono::milliseconds(1000));
  change.used = 25;
  observed.on_tier_change(change);
  change.now = Time(std::chrono::milliseconds(1500));
  change.used = 0;
  change.resident = 25;  // cached, but of nobody: free
  observed.on_tier_change(change);
  const auto counters = observed.counters_at({0.5, 1.2, 2, 3.2}, 100);
  REQUIRE(counters.size() == 4);
  CHECK(counters[0].running == 3);
  CHECK(counters[0].waiting == 2);
  CHECK(counters[0].kv_usage == 0);
  CHECK(counters[1].running == 4);
  CHECK(counters[1].kv_usage == Approx(0.25));
  CHECK(counters[2].running == 0);
  CHECK(counters[2].kv_usage == 0);
  CHECK(counters[3].running == 1);
}

TEST_CASE("several engines add up", "[scenarios]") {
  ObservedRun observed;
  observed.on_step(step(0, 1000, 3, 2, 0));
  observed.on_step(step(200, 900, 4, 1, 1));
  CHECK(observed.counters_at({0.5}, 100)[0].running == 7);
  CHECK(observed.counters_at({0.95}, 100)[0].running == 3);
}

TEST_CASE("requests come in order of arrival, with what they completed", "[scenarios]") {
  ObservedRun observed;
  RequestRecord second;
  second.request = RequestId{1};
  second.arrival = Time(std::chrono::milliseconds(20));
  second.status = RequestStatus::kFailed;
  RequestRecord first;
  first.arrival = Time(std::chrono::milliseconds(10));
  first.scheduled = first.first_token = first.finish = Time(std::chrono::milliseconds(30));
  first.output_tokens = 1;
  observed.on_request(second);
  observed.on_request(first);
  const auto requests = observed.requests();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].completed);
  CHECK(requests[0].first_token_s == Approx(0.03));
  CHECK_FALSE(requests[1].completed);
  CHECK(requests[1].first_token_s == kUnknownTime);
}

}  // namespace
}  // namespace spillway
