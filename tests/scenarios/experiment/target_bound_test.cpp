// Bounds of shares and figures, by hand.
#include "scenarios/experiment/target_bound.hpp"

#include <vector>

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

constexpr FigureKind kShare = FigureKind::kShare;
constexpr FigureKind kFigure = FigureKind::kFigure;

SampleSummary runs_of(const std::vector<double>& x, double requests, FigureKind kind = kShare,
                      Replication replication = Replication::kIndependent, double length = 1) {
  return summarise(x, std::vector<double>(x.size(), requests), kind, replication, length);
}

TEST_CASE("a count that was never seen has a mean of at most three", "[scenarios][planner]") {
  // e^-m = 0.05 at m = 2.9957; for three seen, Garwood's table says 7.7537.
  CHECK(poisson_upper(0, 0.05) == Approx(2.9957).epsilon(1e-4));
  CHECK(poisson_upper(3, 0.05) == Approx(7.7537).epsilon(1e-4));
  CHECK(poisson_lower(3, 0.05) == Approx(0.8177).epsilon(1e-3));
  CHECK(poisson_lower(0, 0.05) == 0);
  // Half of chi-squared's 95% quantile at 2,002 degrees of freedom, and 5% at 2,000. Sums of
  // exp(-mean) end at a mean of 745.
  CHECK(poisson_upper(1000, 0.05) == Approx(1053.6).epsilon(1e-3));
  CHECK(poisson_lower(1000, 0.05) == Approx(948.6).epsilon(1e-3));
  CHECK(poisson_upper(200, 0.01) == Approx(poisson_upper(199, 0.01) + 1.08).epsilon(1e-3));
}

TEST_CASE("degrees of freedom need not be whole", "[scenarios][planner]") {
  CHECK(upper_t(0.05, 9) == Approx(1.8331).epsilon(1e-4));
  // 1/1.5 lies a third of the way from 1/1 to 1/2... (1 - 2/3) / (1 - 1/2) = 2/3.
  CHECK(upper_t(0.05, 1.5) == Approx(6.3138 + 2.0 / 3 * (2.9200 - 6.3138)).epsilon(1e-4));
  CHECK(upper_t(0.05, 0.3) == Approx(6.3138).epsilon(1e-4));
}

TEST_CASE("no request missed does not make a share zero", "[scenarios][planner]") {
  // 10 runs of 1,000 requests, each on its own: 3 in 10,000. If twenty come as one, 20 times that.
  const SampleSummary none = runs_of(std::vector<double>(10, 0), 1000);
  CHECK(upper_bound(none, kShare, 0.05, 1) == Approx(2.9957e-4).epsilon(1e-4));
  CHECK(upper_bound(none, kShare, 0.05, 20) == Approx(20 * 2.9957e-4).epsilon(1e-4));
  CHECK(upper_bound(none, kShare, 0.05) == upper_bound(none, kShare, 0.05, 20));
  CHECK(lower_bound(none, kShare, 0.05) == 0);
}

TEST_CASE("few requests beyond a percentile do not look certain", "[scenarios][planner]") {
  // 10 runs of 20 requests cannot show that 99% are fast: 3/200 = 1.5% is not ruled out.
  const SampleSummary few = runs_of(std::vector<double>(10, 0), 20);
  CHECK(upper_bound(few, kShare, 0.05, 1) == Approx(0.01498).epsilon(1e-3));
}

TEST_CASE("runs that happen to agree keep the chance of their requests", "[scenarios][planner]") {
  // 5 of 1,000 in every run: no spread, yet 50 of 10,000 scatter by sqrt(50), about 14%.
  const SampleSummary alike = runs_of(std::vector<double>(10, 0.005), 1000);
  CHECK(alike.variance == Approx(0).margin(1e-18));
  CHECK(upper_bound(alike, kShare, 0.05) > 0.0060);
  CHECK(lower_bound(alike, kShare, 0.05) < 0.0041);
  CHECK(*dispersion(alike, kShare) == 1);
}

TEST_CASE("a share and its complement have mirrored bounds", "[scenarios][planner]") {
  const SampleSummary low = runs_of({0.01, 0.03, 0.02, 0.015, 0.025}, 10000);
  const SampleSummary high = runs_of({0.99, 0.97, 0.98, 0.985, 0.975}, 10000);
  CHECK(upper_bound(low, kShare, 0.05) == Approx(1 - lower_bound(high, kShare, 0.05)));
  CHECK(upper_bound(low, kShare, 0.05) > 0.02);
  CHECK(upper_bound(high, kShare, 0.05) < 1);
  CHECK(upper_bound(runs_of({1, 1, 1, 1, 1}, 100), kShare, 0.05) == 1);
}

TEST_CASE("one bad run in ten is bounded more widely than Student's t would",
          "[scenarios][planner]") {
  // Mean 1%, standard deviation 3.2%: t gives 1% + 1.833 x 1% = 2.8%. A single cluster says little
  // about how often such clusters come.
  std::vector<double> x(10, 0.0);
  x.front() = 0.1;
  CHECK(upper_bound(runs_of(x, 10000), kShare, 0.05) > 0.04);
}

TEST_CASE("two small clusters do not show that clusters are small", "[scenarios][planner]") {
  // Of 10 runs of 2,000, one has 40 slow requests and one has 60: 0.5%. Counted in clusters of
  // 47 requests (the dispersion), three of them, that is at most 7.75 x 47 / 20,000 = 1.8%.
  std::vector<double> x(10, 0.0);
  x[3] = 0.02;
  x[7] = 0.03;
  const SampleSummary two = runs_of(x, 2000);
  CHECK(is_rare(two));
  CHECK(counted_upper(two, 0.05, 47) == Approx(7.7537 * 47 / 20000).epsilon(1e-3));
  CHECK(upper_bound(two, kShare, 0.05) > 0.02);
}

TEST_CASE("many resamples of a recording are worth less than one more recording",
          "[scenarios][planner]") {
  // 1 / (1 + 1/40) = 0.976; with the recording drawn four times in a row, 1 / (4 + 1/40).
  const std::vector<double> x(40, 0.5);
  CHECK(runs_of(x, 100, kShare, Replication::kIndependent).worth == Approx(40));
  CHECK(runs_of(x, 100, kShare, Replication::kResampled).worth == Approx(0.97561));
  CHECK(runs_of(x, 100, kShare, Replication::kResampled, 4).worth == Approx(0.248447));
}

TEST_CASE("runs of more requests count for more of a share, not of a figure",
          "[scenarios][planner]") {
  const std::vector<double> x = {0.1, 0.4};
  const std::vector<double> weight = {300, 100};
  // (30 + 40) / 400; residuals 300/200 (0.1 - 0.175) and 100/200 (0.4 - 0.175), both 0.1125.
  const SampleSummary share = summarise(x, weight, kShare, Replication::kIndependent, 1);
  CHECK(share.mean == Approx(0.175));
  CHECK(share.variance == Approx(2 * 0.1125 * 0.1125));
  CHECK(summarise(x, weight, kFigure, Replication::kIndependent, 1).mean == Approx(0.25));
  const std::vector<double> without = {300, 0};
  CHECK(summarise(x, without, kShare, Replication::kIndependent, 1).runs == 1);
}

TEST_CASE("a mean latency is bounded on its logarithm, a rate of either sign as it is",
          "[scenarios][planner]") {
  const SampleSummary wait = runs_of({10, 12, 11, 9, 10.5, 11.5, 10, 11, 9.5, 10.5}, 1, kFigure);
  CHECK(upper_bound(wait, kFigure, 0.05) > 10.5);
  CHECK(upper_bound(wait, kFigure, 0.05) * lower_bound(wait, kFigure, 0.05) == Approx(10.5 * 10.5));
  // Standard deviation 1, t of 4 degrees 2.1318: -1 + 2.1318 / sqrt(5).
  const SampleSummary below = runs_of({-2.118034, -1, -1, -1, 0.118034}, 1, kFigure);
  CHECK(below.mean == Approx(-1));
  CHECK(upper_bound(below, kFigure, 0.05) ==
        Approx(-1 + 2.1318 * std::sqrt(below.variance / 5)).epsilon(1e-4));
}

}  // namespace
}  // namespace spillway::test
