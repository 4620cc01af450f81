// Burstiness by hand.
#include "traces/stats/arrival_stats.hpp"

#include <cmath>

#include "sim/rng.hpp"
#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::open_bytes_as_trace;

/// A trace of one-token requests at these times.
Workload at_ms(const std::vector<std::int64_t>& times) {
  std::string rows;
  for (const std::int64_t time : times) rows += test::row(std::to_string(time), "1", "1", "[1]");
  return open_bytes_as_trace(rows);
}

TEST_CASE("gaps and counts of a small trace", "[traces]") {
  // Gaps of 1, 1, 1, 1, 6 s: mean 2, deviations -1 -1 -1 -1 4, variance (4 + 16) / 5 = 4, so that
  // the standard deviation is the mean. Whole seconds 0 to 9 hold 1 1 1 1 1 0 0 0 0 0; the request
  // at 10 s, which ends the span, begins an eleventh that is cut short: mean 0.5, variance
  // 10 * 0.25 / 9.
  const ArrivalStats s = arrival_stats(at_ms({5000, 6000, 7000, 8000, 9000, 15000}));
  CHECK(s.gap_cv == Approx(1));
  CHECK(s.tick_s == 1);
  CHECK_FALSE(s.binned);
  REQUIRE(s.dispersion.size() == 1);  // the span holds one window of 10 s, and not five
  CHECK(s.dispersion[0].window_s == 1);
  CHECK(s.dispersion[0].windows == 10);
  CHECK(s.dispersion[0].mean_count == 0.5);
  CHECK(s.dispersion[0].index == Approx(2.5 / 9 / 0.5));
  CHECK(s.dispersion[0].band == Approx(3 * std::sqrt(2.0 / 9)));
  CHECK(s.verdict == Burstiness::kTooFew);
  CHECK(s.series == std::vector<std::uint64_t>{6});
}

TEST_CASE("even arrivals are smooth and clumps are bursty", "[traces]") {
  // One a second for 100 s: each whole second holds one, the index is 0. Fives every five seconds:
  // 20 of 100 seconds hold five, mean 1, sum of squares 500: (500 - 100) / 99 = 4.04.
  std::vector<std::int64_t> even;
  std::vector<std::int64_t> clumps;
  for (int i = 0; i <= 100; ++i) even.push_back(1000 * i);
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 5; ++k) clumps.push_back(5000 * i + 100 * k);
  }
  clumps.push_back(100'000);
  const ArrivalStats smooth = arrival_stats(at_ms(even));
  CHECK(smooth.verdict == Burstiness::kSmooth);
  CHECK(smooth.dispersion[0].index == 0);
  CHECK(smooth.gap_cv == 0);
  const ArrivalStats bursty = arrival_stats(at_ms(clumps));
  CHECK(bursty.dispersion[0].index == Approx(400.0 / 99));
  CHECK(bursty.verdict == Burstiness::kBursty);
  CHECK_THAT(bursty.reason, ContainsSubstring("counts per 1 s vary 4.04 times as much"));
}

TEST_CASE("exponential gaps are like Poisson", "[traces]") {
  Stream random(1, "arrival-stats-test");
  std::vector<std::int64_t> times;
  double now = 0;
  for (int i = 0; i < 4000; ++i) {
    times.push_back(std::llround(now));
    now += random.exponential(500);
  }
  const ArrivalStats s = arrival_stats(at_ms(times));
  CHECK(s.gap_cv == Approx(1).epsilon(0.05));
  CHECK(s.verdict == Burstiness::kPoisson);
}

TEST_CASE("arrivals that share instants are called binned", "[traces]") {
  // Five requests every 3 s for 600 s: in single seconds they look like clumps, but those are the
  // clock's; windows of ten ticks, 30 s and more, are even.
  std::vector<std::int64_t> times;
  for (int i = 0; i < 1005; ++i) times.push_back(i / 5 * 3000);
  const ArrivalStats s = arrival_stats(at_ms(times));
  CHECK(s.binned);
  CHECK(s.tick_s == 3);
  // 200 of 600 seconds hold five: (5,000 - 1,000 * 1,000 / 600) / 599 over a mean of 1,000 / 600.
  CHECK(s.dispersion[0].index == Approx(3333.33 / 599 / (1000.0 / 600)));
  CHECK(s.verdict == Burstiness::kTooFew);  // ten windows of 60 s
  CHECK_THAT(s.reason, ContainsSubstring("that spans ten ticks of the recording's clock"));
}

TEST_CASE("requests at one instant have no gaps", "[traces]") {
  for (const std::vector<std::int64_t>& times :
       {std::vector<std::int64_t>{7}, std::vector<std::int64_t>{7, 7, 7}}) {
    const ArrivalStats s = arrival_stats(at_ms(times));
    CHECK(s.gap_cv == -1);
    CHECK(s.tick_s == 0);
    CHECK(s.dispersion.empty());
    CHECK(s.verdict == Burstiness::kTooFew);
    CHECK(s.series == std::vector<std::uint64_t>{times.size()});
  }
}

TEST_CASE("the series of a long trace stays short", "[traces]") {
  // 1,156 days are 1,664,640 minutes; intervals of 1,626 of them are the first to be 1,024.
  const ArrivalStats s = arrival_stats(at_ms({0, 1000, 1156LL * 86'400'000}));
  CHECK(s.series.size() == 1024);
  CHECK(s.series_interval_s == 1626 * 60);
  CHECK(s.series.front() == 2);
  CHECK(s.series.back() == 1);
}

TEST_CASE("arrivals of the conversation trace are binned", "[traces]") {
  const auto trace = test::material("traces/mooncake_fast25_conversation.jsonl.gz");
  const test::Figures figure(trace, "conversation");
  // "1,180 distinct timestamps about 3 s apart, many requests share one".
  const ArrivalStats s = arrival_stats(open_trace(trace.path, {}));
  CHECK(s.binned);
  CHECK(s.tick_s == Approx(3).epsilon(0.01));
  CHECK(s.dispersion.size() == 4);
  std::uint64_t sum = 0;
  for (const std::uint64_t count : s.series) sum += count;
  CHECK(sum == figure(12'031u, "requests"));
}

}  // namespace
}  // namespace spillway
