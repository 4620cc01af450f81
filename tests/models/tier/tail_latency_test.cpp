// Latency as a table of quantiles: met exactly, drawn reproducibly, with the mean it says.
#include "models/tier/tail_latency.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

using std::chrono::microseconds;

constexpr LatencyQuantiles kTail = {microseconds(80), microseconds(120), microseconds(480),
                                    microseconds(3000)};

TEST_CASE("the quantiles of the table are met, and it is linear between them", "[models]") {
  const TailLatency tail(kTail);
  CHECK(tail.at(0) == microseconds(80));
  CHECK(tail.at(0.5) == microseconds(80));
  CHECK(tail.at(0.7) == microseconds(100));  // half-way from 80 to 120
  CHECK(tail.at(0.9) == microseconds(120));
  CHECK(tail.at(0.99) == microseconds(480));
  CHECK(tail.at(0.999) == microseconds(3000));
  CHECK(tail.at(1) == microseconds(3000));
}

TEST_CASE("the mean of the table", "[models]") {
  // 0.5 x 80 + 0.4 x 100 + 0.09 x 300 + 0.009 x 1740 + 0.001 x 3000
  //   = 40 + 40 + 27 + 15.66 + 3 = 125.66 us.
  CHECK(TailLatency(kTail).mean_ns() == Approx(125'660));
  CHECK(TailLatency(LatencyQuantiles::constant(microseconds(80))).mean_ns() == Approx(80'000));
}

TEST_CASE("draws follow the table", "[models]") {
  const TailLatency tail(kTail);
  Stream stream(7, "tail");
  constexpr std::size_t kDraws = 200'000;
  std::vector<Duration> draws(kDraws);
  double sum = 0;
  double squares = 0;
  for (Duration& d : draws) {
    d = tail.draw(stream);
    const auto ns = static_cast<double>(d.count());
    sum += ns;
    squares += ns * ns;
  }
  const double mean = sum / kDraws;
  const double deviation = std::sqrt(squares / kDraws - mean * mean);
  // The mean of n draws is off by deviation / sqrt(n); five of those.
  CHECK(std::abs(mean - tail.mean_ns()) < 5 * deviation / std::sqrt(double{kDraws}));
  std::sort(draws.begin(), draws.end());
  const auto quantile = [&](double u) {
    return static_cast<double>(draws[static_cast<std::size_t>(u * kDraws)].count());
  };
  // The sampled probability of a quantile is off by sqrt(u (1-u) / n): 0.0011, 0.0007 and 0.0002,
  // times the slope of the table there (at p99 the steeper side, 280 ns per 0.000001).
  CHECK(quantile(0.5) == Approx(80'000).margin(500));
  CHECK(quantile(0.9) == Approx(120'000).margin(15'000));
  CHECK(quantile(0.99) == Approx(480'000).margin(350'000));
}

TEST_CASE("equal seeds draw equal latencies, and a constant draws nothing", "[models]") {
  const TailLatency tail(kTail);
  Stream a(1, "storage");
  Stream b(1, "storage");
  Stream other(2, "storage");
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const Duration d = tail.draw(a, 8);
    CHECK(d == tail.draw(b, 8));
    differs = differs || d != tail.draw(other, 8);
  }
  CHECK(differs);
  const TailLatency constant(LatencyQuantiles::constant(microseconds(80)));
  CHECK(constant.draw(a, 10) == microseconds(800));
  CHECK(a.bits() == b.bits());
}

}  // namespace
}  // namespace spillway
