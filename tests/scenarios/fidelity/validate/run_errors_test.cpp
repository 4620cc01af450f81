// Errors between two runs, on runs small enough to work out by hand.
#include "scenarios/fidelity/validate/run_errors.hpp"

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

MeasuredRequest request(double arrival, double first, double last, std::uint32_t output) {
  MeasuredRequest r;
  r.arrival_s = arrival;
  r.queued_s = arrival;
  r.scheduled_s = arrival;
  r.first_token_s = first;
  r.last_token_s = last;
  r.input_tokens = 100;
  r.output_tokens = output;
  return r;
}

TEST_CASE("a metric's error is signed and relative to what was measured", "[scenarios]") {
  const auto errors = metric_errors({{"mean_ttft_ms", 200}, {"duration_s", 10}, {"other", 1}},
                                    {{"mean_ttft_ms", 190}, {"duration_s", 10}}, {});
  REQUIRE(errors.size() == 2);  // in the order of a report; what one side lacks is left out
  CHECK(errors[0].name == "mean_ttft_ms");
  CHECK(errors[0].error_percent() == Approx(-5));
  CHECK(errors[1].error_percent() == 0);
  CHECK(MetricError{"x", 0, 3}.error_percent() == 100);
}

TEST_CASE("errors request by request say what equal means hide", "[scenarios]") {
  // Two requests, TTFT measured 100 and 300 ms, simulated 300 and 100: equal means, opposite order.
  const std::vector<MeasuredRequest> measured = {request(0, 0.1, 1.1, 11), request(1, 1.3, 2.3, 11),
                                                 request(2, 2.2, 3, 1)};
  const std::vector<MeasuredRequest> simulated = {request(0, 0.3, 1.1, 11),
                                                  request(1, 1.1, 2.3, 11), request(2, 2.2, 3, 1)};
  const auto errors = request_errors(measured, simulated);
  REQUIRE(errors.size() == 3);
  CHECK(errors[0].latency == "ttft");
  CHECK(errors[0].requests == 3);
  CHECK(errors[0].p50_percent == Approx(0));
  // -66.7, 0 and 200%: the 95th percentile lies 0.9 of the way from 0 to 200.
  CHECK(errors[0].p95_percent == Approx(180));
  CHECK(errors[0].mean_absolute_ms == Approx(400.0 / 3));
  CHECK(errors[0].rank_correlation == Approx(-1));
  // 1,000 ms over 10 gaps, simulated 800 and 1,200; one token has no gap.
  CHECK(errors[1].latency == "tpot");
  CHECK(errors[1].requests == 2);
  CHECK(errors[1].mean_absolute_ms == Approx(20));
  CHECK(errors[2].mean_absolute_ms == Approx(0).margin(1e-9));
}

TEST_CASE("a request that did not complete is in no error", "[scenarios]") {
  std::vector<MeasuredRequest> measured = {request(0, 0.1, 1.1, 11), request(1, 1.3, 2.3, 11)};
  std::vector<MeasuredRequest> simulated = measured;
  simulated[1].completed = false;
  CHECK(request_errors(measured, simulated)[0].requests == 1);
  CHECK(worst_requests(measured, simulated, 5).size() == 1);
}

TEST_CASE("the requests that are furthest off come first", "[scenarios]") {
  const std::vector<MeasuredRequest> measured = {request(0, 0.1, 1, 5), request(0, 0.1, 1, 5),
                                                 request(0, 0.1, 1, 5)};
  const std::vector<MeasuredRequest> simulated = {request(0, 0.1, 1.1, 5), request(0, 0.1, 0.5, 5),
                                                  request(0, 0.1, 1.2, 5)};
  const auto worst = worst_requests(measured, simulated, 2);
  REQUIRE(worst.size() == 2);
  CHECK(worst[0].number == 1);  // 500 ms
  CHECK(worst[1].number == 2);  // 200 ms
}

TEST_CASE("counters are compared as shares of the measured peak", "[scenarios]") {
  // Running 10, 20, 40, 30 measured; 2 more in the first half, 2 fewer in the second.
  std::vector<MeasuredCounters> measured;
  std::vector<MeasuredCounters> simulated;
  const double running[] = {10, 20, 40, 30};
  for (int i = 0; i < 4; ++i) {
    measured.push_back({i * 1.0, running[i], 0, 0.5, 0, 0});
    simulated.push_back({i * 1.0, running[i] + (i < 2 ? 2 : -2), 0, 0.4, 0, 0});
  }
  const CounterErrors errors = counter_errors(measured, simulated);
  REQUIRE(errors.counters.size() == 3);
  CHECK(errors.counters[0].mean_absolute == Approx(2));
  CHECK(errors.counters[0].percent_of_peak == Approx(5));  // of 40
  CHECK(errors.counters[0].bias_percent_of_peak == Approx(0));
  CHECK(errors.counters[1].percent_of_peak == 0);  // nobody waited
  CHECK(errors.counters[2].percent_of_peak == Approx(20));
  CHECK(errors.counters[2].bias_percent_of_peak == Approx(-20));
}

TEST_CASE("counters without KV usage are not compared with any", "[scenarios]") {
  const std::vector<MeasuredCounters> measured = {{0, 1, 0, 0, 0, 0}};
  CHECK(counter_errors(measured, measured).counters.size() == 2);
}

TEST_CASE("the counters' clock is found from the two measured sources alone", "[scenarios]") {
  // Request i is there from i to i + 3.5. The counters say so 0.3 s later: their clock is behind.
  MeasuredRun run;
  for (int i = 0; i < 20; ++i) run.requests.push_back(request(i, i + 0.5, i + 3.5, 5));
  for (int i = 0; i < 22; ++i) {
    MeasuredCounters c;
    c.at_s = i + 0.3;
    const double at = c.at_s - 0.3 + 0.25;
    for (const MeasuredRequest& r : run.requests) {
      c.running += r.arrival_s <= at && r.last_token_s > at;
    }
    run.counters.push_back(c);
  }
  // Between -0.3 and 0.2 nobody comes or goes between the counters' instants and the true ones.
  const double offset = clock_offset(run);
  CHECK(offset >= -0.35);
  CHECK(offset <= 0.2);
  CHECK(clock_offset(MeasuredRun{}) == 0);
}

TEST_CASE("ranks correlate whatever the scale, and ties share theirs", "[scenarios]") {
  CHECK(*rank_correlation({1, 2, 3, 4}, {10, 200, 201, 5000}) == Approx(1));
  CHECK(*rank_correlation({1, 2, 3, 4}, {4, 3, 2, 1}) == Approx(-1));
  // Ranks 1, 2.5, 2.5, 4 beside 1, 2, 3, 4: 4.5 / sqrt(4.5 x 5).
  CHECK(*rank_correlation({1, 2, 2, 3}, {1, 2, 3, 4}) == Approx(4.5 / std::sqrt(22.5)));
  CHECK_FALSE(rank_correlation({1, 1, 1}, {1, 2, 3}).has_value());
}

}  // namespace
}  // namespace spillway
