// Drift: traces that stay the same, that change in one quantity, and that are too short to tell.
#include "traces/stats/stationarity.hpp"

#include <cmath>

#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::blocks_of;
using test::open_bytes_as_trace;
using test::row;

/// 801 requests over 800 s, 100 in each window of 100 s and the last of all in the eighth.
template <class Input, class Block>
Workload even(Input input, Block block) {
  std::string rows;
  for (int i = 0; i <= 800; ++i) {
    const int tokens = input(i);
    rows +=
        row(std::to_string(1000 * i), std::to_string(tokens), "1", fmt::format("[{}]", block(i)));
  }
  return open_bytes_as_trace(rows, blocks_of(4096));
}

const DriftTest& test_of(const Stationarity& s, std::string_view quantity) {
  for (const DriftTest& test : s.tests) {
    if (name_of(test.quantity) == quantity) return test;
  }
  FAIL("no test of " << quantity);
  return s.tests.front();
}

TEST_CASE("a trace that stays the same is stationary", "[traces]") {
  // Inputs 900 and 1,100 in turn, block repeated every other request.
  const Stationarity s = stationarity(
      even([](int i) { return i % 2 == 0 ? 900 : 1100; }, [](int i) { return i % 2; }));
  CHECK(s.window_s == 100);
  REQUIRE(s.tests.size() == 3);
  const DriftTest& rate = test_of(s, "request rate");
  CHECK(rate.windows.size() == 8);
  CHECK(rate.windows[0] == 1);     // 100 in 100 s
  CHECK(rate.windows[7] == 1.01);  // 101
  CHECK(rate.overall == Approx(801.0 / 800));
  CHECK(rate.tolerance == Approx(0.2 * 801 / 800));
  CHECK(rate.noise == Approx(2 * std::sqrt(801.0 / 800 / 100)));          // two errors of about 100
  CHECK(rate.trend_z == Approx((7 - 1) / std::sqrt(8 * 7 * 21 / 18.0)));  // 7 of 28 pairs rise
  CHECK(rate.trend_change == 0);
  CHECK(rate.verdict == Drift::kStationary);
  const DriftTest& input = test_of(s, "mean input");
  CHECK(input.windows[0] == 1000);
  // Two errors of a mean of 100 requests that are off by 100: 2 * 100 / 10.
  CHECK(input.noise == Approx(20).epsilon(0.01));
  const DriftTest& hits = test_of(s, "hit ratio");
  CHECK(hits.windows.size() == 7);  // from the second window on
  CHECK(hits.overall == 1);
  CHECK(s.verdict == Drift::kStationary);
}

TEST_CASE("a mean that climbs is drifting", "[traces]") {
  // 1,000 tokens growing by half to the end: the windows' means climb from 1,031 to 1,469.
  const Stationarity s =
      stationarity(even([](int i) { return 1000 + i * 500 / 800; }, [](int) { return 1; }));
  const DriftTest& input = test_of(s, "mean input");
  CHECK(input.trend_z == Approx((28 - 1) / std::sqrt(8 * 7 * 21 / 18.0)));  // all pairs rise
  CHECK(input.trend_change == Approx(7 * 62.5).epsilon(0.01));  // seven windows of 100 requests
  CHECK(input.verdict == Drift::kDrifting);
  CHECK(test_of(s, "request rate").verdict == Drift::kStationary);
  CHECK(s.verdict == Drift::kDrifting);
  CHECK_THAT(s.reason, ContainsSubstring("mean input drifting (largest deviation of a window "));
  CHECK_THAT(s.reason, ContainsSubstring("request rate stationary ("));
}

TEST_CASE("one window that stands out is drifting without a trend", "[traces]") {
  const Stationarity s =
      stationarity(even([](int i) { return i / 100 == 3 ? 1500 : 1000; }, [](int) { return 1; }));
  const DriftTest& input = test_of(s, "mean input");
  CHECK(input.largest_deviation == Approx(1500 - (801'000 + 50'000) / 801.0));
  CHECK(input.verdict == Drift::kDrifting);
  CHECK(std::fabs(input.trend_z) < 1.96);
}

TEST_CASE("a hit ratio that falls is drifting, one that warms up is not", "[traces]") {
  // New blocks in the last half only: hits of 1 and then 0.
  const Stationarity falls =
      stationarity(even([](int) { return 1000; }, [](int i) { return i < 400 ? 1 : i; }));
  CHECK(test_of(falls, "hit ratio").verdict == Drift::kDrifting);
  // 50 blocks in turn: the first 50 requests miss, all others hit.
  const Stationarity warms =
      stationarity(even([](int) { return 1000; }, [](int i) { return i % 50; }));
  CHECK(test_of(warms, "hit ratio").verdict == Drift::kStationary);
}

TEST_CASE("short and noisy traces are too short to tell", "[traces]") {
  // 239 requests are fewer than 30 in each of 8 windows, however even.
  std::string rows;
  for (int i = 0; i < 239; ++i) rows += row(std::to_string(1000 * i), "10", "1", "[1]");
  CHECK(stationarity(open_bytes_as_trace(rows)).verdict == Drift::kTooShort);
  rows += row("239000", "10", "1", "[1]");
  const Stationarity s = stationarity(open_bytes_as_trace(rows));
  // 30 requests a window: two Poisson errors are 2 / sqrt(30) = 37%, and hide 20%.
  CHECK(test_of(s, "request rate").verdict == Drift::kTooShort);
  CHECK(test_of(s, "mean input").verdict == Drift::kStationary);
  CHECK(s.verdict == Drift::kTooShort);

  const Stationarity instant = stationarity(open_bytes_as_trace(test::good_row("5")));
  CHECK(instant.verdict == Drift::kTooShort);
  CHECK(instant.tests.empty());
  CHECK(instant.reason == "all requests arrive at once");
  // Two requests with nothing between them: six windows hold none.
  const Stationarity two =
      stationarity(open_bytes_as_trace(test::good_row("0") + test::good_row("9000")));
  CHECK(two.verdict == Drift::kTooShort);
  CHECK(two.tests.size() == 3);
}

}  // namespace
}  // namespace spillway
