// Paired differences: arithmetic by hand, and how often the intervals cover what they should.
#include "sim/paired_difference.hpp"

#include <array>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

using Values = std::vector<double>;
constexpr int kTrials = 1000;

TEST_CASE("a paired interval by hand", "[sim]") {
  // Differences 1 2 3 4 5: mean 3, variance 2.5, error sqrt(2.5 / 5) = 0.7071, t(4) = 2.7764.
  const PairedDifference d = paired_difference(
      Values{11, 22, 33, 44, 55}, Values{10, 20, 30, 40, 50}, Replication::kIndependent);
  CHECK(d.mean == 3);
  CHECK(d.variance == 2.5);
  REQUIRE(d.interval);
  CHECK(d.interval->low == Approx(3 - 2.7764 * 0.70711).epsilon(1e-4));
  CHECK(d.interval->high == Approx(3 + 2.7764 * 0.70711).epsilon(1e-4));
  CHECK(d.interval->p == Approx(0.0132).margin(0.0001));  // t = 4.2426 at 4 degrees
}

TEST_CASE("resamples of one recording keep the error of one", "[sim]") {
  // The same differences: error sqrt(2.5 * 6 / 5) = 1.7321.
  const PairedDifference d =
      paired_difference(Values{1, 2, 3, 4, 5}, Values(5, 0), Replication::kResampled);
  REQUIRE(d.interval);
  CHECK(d.interval->high == Approx(3 + 2.7764 * 1.73205).epsilon(1e-4));
}

TEST_CASE("fewer than five replications have no interval", "[sim]") {
  const PairedDifference d =
      paired_difference(Values{1, 2, 3, 4}, Values(4, 0), Replication::kIndependent);
  CHECK(d.mean == 2.5);
  CHECK_FALSE(d.interval);
  CHECK(paired_difference(Values{3}, Values{1}, Replication::kIndependent).variance == 0);
}

TEST_CASE("no difference at all, and the same one every time", "[sim]") {
  const PairedDifference none =
      paired_difference(Values(5, 7), Values(5, 7), Replication::kIndependent);
  CHECK_FALSE(none.any);
  CHECK(none.interval->p == 1);
  const PairedDifference same =
      paired_difference(Values(5, 7), Values(5, 5), Replication::kIndependent);
  CHECK(same.any);
  CHECK(same.interval->low == 2);
  CHECK(same.interval->p == 0);
}

TEST_CASE("Holm adjusts from the smallest p upwards", "[sim]") {
  // Sorted: 0.005 x 4, 0.01 x 3, 0.03 x 2, and 0.04 x 1, which may not be below the one before.
  const std::vector<double> adjusted = holm_adjusted(Values{0.01, 0.04, 0.03, 0.005});
  const Values expected = {0.03, 0.06, 0.06, 0.02};
  for (std::size_t i = 0; i < 4; ++i) CHECK(adjusted[i] == Approx(expected[i]));
  CHECK(holm_adjusted(Values{0.6, 0.7}) == Values{1, 1});
  CHECK(holm_adjusted(Values{}).empty());
}

/// Of 1,000 intervals, how many hold `truth`.
template <class Trial>
double coverage(double truth, Trial trial) {
  int covered = 0;
  for (int i = 0; i < kTrials; ++i) {
    const PairedDifference d = trial(static_cast<std::uint64_t>(i));
    if (d.interval->low <= truth && truth <= d.interval->high) ++covered;
  }
  return static_cast<double>(covered) / kTrials;
}

TEST_CASE("intervals over independent replicates cover in 93 to 97% of trials", "[sim]") {
  // What both systems share (normal, sigma 10) is large against the difference (2, sigma 1).
  for (const int n : {5, 10, 20}) {
    const double share = coverage(2, [&](std::uint64_t trial) {
      Stream shared(trial, "shared");
      Stream own(trial, "own");
      Values base;
      Values variant;
      for (int i = 0; i < n; ++i) {
        base.push_back(100 + 10 * shared.normal());
        variant.push_back(base.back() + 2 + own.normal());
      }
      return paired_difference(variant, base, Replication::kIndependent);
    });
    INFO(n << " replications: " << share);
    CHECK(share >= 0.93);
    CHECK(share <= 0.97);
  }
}

TEST_CASE("intervals over resamples of one recording cover; s / sqrt(n) would not", "[sim]") {
  // A recording is 100 sessions that differ by 2 on average (sigma 1). Ten resamples, each the
  // mean of 100 drawn sessions.
  const auto trial_of = [](Replication replication) {
    return [replication](std::uint64_t trial) {
      Stream draw(trial, "recording");
      Values recording;
      for (int i = 0; i < 100; ++i) recording.push_back(2 + draw.normal());
      Values means;
      for (std::uint64_t r = 0; r < 10; ++r) {
        Stream again(trial, "resample", r);
        Values sample;
        for (int i = 0; i < 100; ++i) sample.push_back(recording[again.below(100)]);
        means.push_back(mean_of(sample));
      }
      return paired_difference(means, Values(10, 0), replication);
    };
  };
  const double resampled = coverage(2, trial_of(Replication::kResampled));
  const double naive = coverage(2, trial_of(Replication::kIndependent));
  INFO("resampled " << resampled << ", naive " << naive);
  CHECK(resampled >= 0.93);
  CHECK(resampled <= 0.97);
  CHECK(naive < 0.6);
}

TEST_CASE("Holm keeps the chance of any false verdict at 5%", "[sim]") {
  // Eleven metrics without a difference, ten replications: without correction some metric would be
  // decided in about 1 - 0.95^11 = 43% of comparisons.
  int corrected = 0;
  int uncorrected = 0;
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    Stream draw(trial, "null");
    Values p;
    for (int metric = 0; metric < 11; ++metric) {
      Values differences;
      for (int i = 0; i < 10; ++i) differences.push_back(draw.normal());
      p.push_back(
          paired_difference(differences, Values(10, 0), Replication::kIndependent).interval->p);
    }
    const auto any = [](const Values& of) {
      return *std::min_element(of.begin(), of.end()) < 0.05;
    };
    uncorrected += any(p) ? 1 : 0;
    corrected += any(holm_adjusted(p)) ? 1 : 0;
  }
  INFO(corrected << " and " << uncorrected << " of " << kTrials);
  CHECK(corrected <= 70);
  CHECK(uncorrected >= 370);
}

}  // namespace
}  // namespace spillway
