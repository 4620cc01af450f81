// Times of steps by size of batch, from samples worked out by hand.
#include "scenarios/fidelity/validate/step_buckets.hpp"

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

/// `batch` requests that decode from 0 to `seconds`, each step of which takes `step_ms`; samples
/// every second.
MeasuredRun steady(std::uint32_t batch, double seconds, double step_ms) {
  MeasuredRun run;
  for (std::uint32_t i = 0; i < batch; ++i) {
    MeasuredRequest r;
    r.scheduled_s = r.arrival_s = -0.1;
    r.first_token_s = 0;
    r.last_token_s = seconds;
    run.requests.push_back(r);
  }
  for (double at = 0; at <= seconds; ++at) {
    MeasuredCounters c;
    c.at_s = at;
    c.running = batch;
    c.output_tokens_per_s = 1e3 / step_ms * batch;
    run.counters.push_back(c);
  }
  return run;
}

TEST_CASE("a step's time is the decoding between two samples over its tokens", "[scenarios]") {
  // 20 requests, 25 ms a step: 800 tokens a second. Simulated, 24 ms.
  const auto buckets = step_buckets(steady(20, 5, 25), steady(20, 5, 24), 0);
  REQUIRE(buckets.size() == 1);
  CHECK(buckets[0].name() == "step_ms_17_32");
  CHECK(buckets[0].windows == 5);
  CHECK(buckets[0].measured_ms == Approx(25));
  CHECK(buckets[0].simulated_ms == Approx(24));
  CHECK(buckets[0].error_percent() == Approx(-4));
}

TEST_CASE("windows with prompts stand apart, and first tokens are not of a step's time",
          "[scenarios]") {
  MeasuredRun measured = steady(4, 3, 20);
  MeasuredRequest late;
  late.scheduled_s = late.arrival_s = 1.2;
  late.first_token_s = 1.5;
  late.last_token_s = 1.5;
  late.output_tokens = 1;
  measured.requests.push_back(late);
  measured.counters[2].output_tokens_per_s += 1;
  const auto buckets = step_buckets(measured, measured, 0);
  REQUIRE(buckets.size() == 2);
  CHECK(buckets[0].name() == "step_ms_3_4");
  CHECK(buckets[0].windows == 2);
  CHECK(buckets[1].name() == "step_ms_3_4_prompts");
  CHECK(buckets[1].measured_ms == Approx(20));
}

TEST_CASE("a window without a simulated one like it is left out", "[scenarios]") {
  CHECK(step_buckets(steady(20, 5, 25), steady(30, 5, 25), 0).empty());  // 50% more
  CHECK(step_buckets(steady(20, 5, 25), steady(22, 5, 25), 0).size() == 1);
  MeasuredRun silent = steady(20, 5, 25);
  for (MeasuredCounters& c : silent.counters) c.output_tokens_per_s = 0;
  CHECK(step_buckets(silent, steady(20, 5, 25), 0).empty());
}

}  // namespace
}  // namespace spillway
