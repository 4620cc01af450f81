// Latency statistics: numpy's percentiles while exact, a stated error beyond, exact moments always.
#include "sim/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/error.hpp"
#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// numpy.percentile(samples, 100 * q) in extended precision; sorts its copy.
double numpy_percentile(std::vector<std::int64_t> samples, long double q) {
  std::sort(samples.begin(), samples.end());
  const long double position = q * static_cast<long double>(samples.size() - 1);
  const auto low = static_cast<std::size_t>(position);
  const std::size_t high = std::min(low + 1, samples.size() - 1);
  const long double a = static_cast<long double>(samples[low]);
  const long double b = static_cast<long double>(samples[high]);
  return static_cast<double>(a + (b - a) * (position - static_cast<long double>(low)));
}

LatencySamples samples_of(const std::vector<std::int64_t>& ns) {
  LatencySamples out;
  for (const std::int64_t v : ns) out.add(Duration(v));
  return out;
}

TEST_CASE("no samples give zeros, not NaN", "[sim]") {
  const LatencyStats s = LatencySamples().stats();
  CHECK(s.count == 0);
  CHECK(s.mean_ms == 0);
  CHECK(s.std_ms == 0);
  CHECK(s.p99_ms == 0);
  CHECK(LatencySamples().mean_ms() == 0);
}

TEST_CASE("one sample is every percentile", "[sim]") {
  const LatencyStats s = samples_of({7 * kMs}).stats();
  CHECK(s.count == 1);
  CHECK(s.mean_ms == 7);
  CHECK(s.median_ms == 7);
  CHECK(s.p99_ms == 7);
  CHECK(s.max_ms == 7);
  CHECK(s.std_ms == 0);
}

TEST_CASE("percentiles interpolate between neighbours", "[sim]") {
  // 1..5 ms in any order. Positions q * (n - 1): 2, 3.6, 3.8, 3.96 -> 3, 4.6, 4.8, 4.96 ms.
  const LatencyStats s = samples_of({3 * kMs, 1 * kMs, 5 * kMs, 2 * kMs, 4 * kMs}).stats();
  CHECK(s.mean_ms == 3);
  CHECK(s.median_ms == 3);
  CHECK(s.p90_ms == Approx(4.6).epsilon(1e-14));
  CHECK(s.p95_ms == Approx(4.8).epsilon(1e-14));
  CHECK(s.p99_ms == Approx(4.96).epsilon(1e-14));
  CHECK(s.max_ms == 5);
  CHECK(s.std_ms == Approx(std::sqrt(2)).epsilon(1e-14));  // ((4 + 1 + 0 + 1 + 4) / 5)^0.5
  CHECK(s.quantile_error == 0);
}

TEST_CASE("exact percentiles equal numpy's on a random sample", "[sim]") {
  Stream random(1, "histogram exact");
  std::vector<std::int64_t> ns;
  for (int i = 0; i < 4'321; ++i) ns.push_back(static_cast<std::int64_t>(random.lognormal(5e7, 1)));
  const LatencyStats s = samples_of(ns).stats();
  CHECK(s.median_ms == Approx(numpy_percentile(ns, 0.50L) / 1e6).epsilon(1e-12));
  CHECK(s.p90_ms == Approx(numpy_percentile(ns, 0.90L) / 1e6).epsilon(1e-12));
  CHECK(s.p95_ms == Approx(numpy_percentile(ns, 0.95L) / 1e6).epsilon(1e-12));
  CHECK(s.p99_ms == Approx(numpy_percentile(ns, 0.99L) / 1e6).epsilon(1e-12));
}

TEST_CASE("a counted sample weighs as often as it occurred", "[sim]") {
  LatencySamples counted;
  counted.add(Duration(1 * kMs), 3);
  counted.add(Duration(9 * kMs), 1);
  counted.add(Duration(5 * kMs), 0);  // occurred never
  const LatencyStats s = counted.stats();
  const LatencyStats same = samples_of({kMs, kMs, kMs, 9 * kMs}).stats();
  CHECK(s.count == 4);
  CHECK(s.mean_ms == 3);  // (1 + 1 + 1 + 9) / 4
  CHECK(s.median_ms == same.median_ms);
  CHECK(s.p90_ms == same.p90_ms);
  CHECK(s.std_ms == same.std_ms);
  CHECK(s.max_ms == 9);
}

TEST_CASE("pooled samples are as if all had been added to one", "[sim]") {
  // 1, 2, 3 and 9, 5 ms. Mean 4; population variance (9 + 4 + 1 + 25 + 1) / 5 = 8; p90 lies at 3.6
  // of 1, 2, 3, 5, 9: 5 + 0.6 x 4. The largest may come from either side.
  const std::vector<std::int64_t> few = {1 * kMs, 2 * kMs, 3 * kMs};
  const std::vector<std::int64_t> more = {9 * kMs, 5 * kMs};
  for (const bool swapped : {false, true}) {
    LatencySamples pool = samples_of(swapped ? more : few);
    pool.add(samples_of(swapped ? few : more));
    const LatencyStats s = pool.stats();
    CHECK(s.count == 5);
    CHECK(s.mean_ms == 4);
    CHECK(s.std_ms == Approx(std::sqrt(8)).epsilon(1e-14));
    CHECK(s.median_ms == 3);
    CHECK(s.p90_ms == Approx(7.4).epsilon(1e-14));
    CHECK(s.max_ms == 9);
  }
}

TEST_CASE("the standard deviation survives a large offset", "[sim]") {
  // A sum of squares in doubles would lose these: (10^15)^2 has no room for a difference of 1.
  const std::int64_t day_ns = 86'400'000'000'000;
  const double expected_ms = std::sqrt(2.0 / 3) / 1e6;  // {-1, 0, 1} ns around the mean
  CHECK(samples_of({day_ns - 1, day_ns, day_ns + 1}).stats().std_ms ==
        Approx(expected_ms).epsilon(1e-12));

  LatencySamples many;  // the same spread, spilled into the histogram
  many.add(Duration(day_ns - 1), 1'000'000);
  many.add(Duration(day_ns), 1'000'000);
  many.add(Duration(day_ns + 1), 1'000'000);
  CHECK(many.stats().std_ms == Approx(expected_ms).epsilon(1e-12));
  CHECK(many.stats().mean_ms == Approx(86'400'000).epsilon(1e-15));
}

TEST_CASE("a mean between two nanoseconds is centred correctly", "[sim]") {
  // {0, 0, 1} + offset: variance 2/9, though the integer mean is off by 1/3.
  const std::int64_t offset = 1'000'000'000'000;
  CHECK(samples_of({offset, offset, offset + 1}).stats().std_ms ==
        Approx(std::sqrt(2.0 / 9) / 1e6).epsilon(1e-12));
}

TEST_CASE("a constant has no spread", "[sim]") {
  const std::vector<std::int64_t> ns(1000, 123'456'789);
  CHECK(samples_of(ns).stats().std_ms == 0);
}

TEST_CASE("the limit of exactness is one million samples", "[sim]") {
  LatencySamples samples;
  samples.add(Duration(3'000'001), LatencySamples::kExactLimit);
  CHECK(samples.stats().quantile_error == 0);
  CHECK(samples.stats().median_ms == 3.000001);
  samples.add(Duration(3'000'001));
  CHECK(samples.stats().quantile_error == LogHistogram::kQuantileError);
  CHECK(samples.stats().median_ms == Approx(3.000001).epsilon(LogHistogram::kQuantileError));
}

TEST_CASE("beyond the limit quantiles are within 0.05 percent and moments exact", "[sim]") {
  Stream random(1, "histogram spilled");
  std::vector<std::int64_t> ns;
  LatencySamples samples;
  long double sum = 0;
  for (int i = 0; i < 1'200'000; ++i) {
    // From hundreds of nanoseconds to minutes, so that many octaves are in play.
    const auto v = static_cast<std::int64_t>(random.lognormal(2e7, 2.5));
    ns.push_back(v);
    sum += static_cast<long double>(v);
    samples.add(Duration(v));
  }
  const LatencyStats s = samples.stats();
  std::sort(ns.begin(), ns.end());
  const auto off = [&](double got_ms, long double q) {
    const double want = numpy_percentile(ns, q);
    return std::abs(got_ms * 1e6 - want) / want;
  };
  CHECK(LogHistogram::kQuantileError < 0.0005);
  CHECK(s.quantile_error == LogHistogram::kQuantileError);
  CHECK(off(s.median_ms, 0.50L) <= s.quantile_error);
  CHECK(off(s.p90_ms, 0.90L) <= s.quantile_error);
  CHECK(off(s.p95_ms, 0.95L) <= s.quantile_error);
  CHECK(off(s.p99_ms, 0.99L) <= s.quantile_error);
  CHECK(s.max_ms == static_cast<double>(ns.back()) / 1e6);
  CHECK(s.mean_ms == Approx(static_cast<double>(sum / 1.2e6L / 1e6L)).epsilon(1e-12));
}

TEST_CASE("every value is within the bound of its bucket's middle", "[sim]") {
  Stream random(1, "buckets");
  std::vector<std::int64_t> values = {0, 1, 2047, 2048, 2049, 4095, 4096};
  for (int bit = 11; bit < 62; ++bit) {
    const std::int64_t power = std::int64_t{1} << bit;
    values.insert(values.end(), {power - 1, power, power + 1});
    values.push_back(power + static_cast<std::int64_t>(random.below(std::uint64_t{1} << bit)));
  }
  double worst = 0;
  for (const std::int64_t v : values) {
    LogHistogram histogram;
    histogram.add(v, 1);
    const double error = std::abs(histogram.at_rank(0) - static_cast<double>(v));
    worst = std::max(worst, v == 0 ? error : error / static_cast<double>(v));
  }
  CHECK(worst <= LogHistogram::kQuantileError);
}

TEST_CASE("values below 2048 keep buckets of their own", "[sim]") {
  LogHistogram histogram;
  for (std::int64_t v = 0; v < 2048; ++v) histogram.add(v, 1);
  bool exact = true;
  for (std::uint64_t rank = 0; rank < 2048; ++rank) {
    exact = exact && histogram.at_rank(rank) == static_cast<double>(rank);
  }
  CHECK(exact);
}

TEST_CASE("ranks beyond the samples and negative latencies are defects", "[sim]") {
  LogHistogram histogram;
  histogram.add(5, 2);
  CHECK(histogram.at_rank(1) == 5);
  CHECK_THROWS_AS(histogram.at_rank(2), InternalError);
  LatencySamples samples;
  CHECK_THROWS_AS(samples.add(Duration(-1)), InternalError);
}

}  // namespace
}  // namespace spillway
