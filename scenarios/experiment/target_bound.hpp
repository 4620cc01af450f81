// How far a target's figure may be from what a few runs show: one-sided bounds for shares of
// requests and for other figures.
//
// Student's t on the figures themselves is not enough. Slow requests come in clusters: most runs
// have few and one run has many, so a small mean comes with a small spread, and an upper bound of
// nominal 95% covers 79% of the time (M/M/1 at 0.8, waits beyond their p99, 10 runs of 2,000).
// Two things mend that:
//
//  - Bounds are taken on the logit scale (shares) or the log scale (other positive figures), with
//    the standard error carried over by its first derivative.
//  - The spread of clustered figures is itself known badly. With clusters of exponential size that
//    start at random, the excess kurtosis of a run's share is 3 cv^2 (cv: of one run), so the
//    variance of n runs is worth 2 / (2/(n-1) + 3 cv^2/n) degrees of freedom, not n-1
//    (Satterthwaite's matching of the second moment). A mean of waits adds up whole busy periods,
//    whose tail is heavier: 30 cv^2.
//
// The system above then covers 97.2% two-sided, and others between 93% and 97% (tests/long
// coverage). A share that hardly any run shows has no spread to speak of; it is bounded by
// counting clusters (Clopper and Pearson's bound, in Poisson's form). Few clusters hardly tell how
// large clusters are, and runs with small ones miscount most, so where there is a spread as well
// the wider bound counts: counting alone covers 91% of the system above. How large clusters are is
// measured where runs allow it (planner/selection/clusters.hpp).
//
// Runs are worth `worth` independent ones: n draws of a generated workload are worth n; n resamples
// of a recording are worth 1 / (length + 1/n), see sim/paired_difference.hpp: `length` is that of a
// replicate in recordings, so that its variance grows to that of a whole recording, and more
// resamples teach nothing about other days.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sim/paired_difference.hpp"

namespace spillway {

enum class FigureKind : std::uint8_t {
  kShare,   ///< of requests, in [0, 1]
  kFigure,  ///< anything else
};

/// Requests in a cluster where none has been seen anywhere: the wait behind one long prompt. A
/// guess that keeps "no request missed" from being read as so many independent successes.
inline constexpr double kUnseenCluster = 20;

struct SampleSummary {
  double mean = 0;      ///< shares: of all requests together
  double variance = 0;  ///< of one run
  double requests = 0;  ///< of one run, on average
  double worth = 0;     ///< independent runs
  std::uint32_t runs = 0;
};

/// Runs without requests count for nothing. `weight`: requests of each run; it may be empty for
/// figures, where runs count alike.
SampleSummary summarise(std::span<const double> x, std::span<const double> weight, FigureKind kind,
                        Replication replication, double length);

/// How much runs scatter, as a property that cells near each other have in common. Shares: requests
/// that come as one (the variance over that of independent requests, at least 1); figures: cv^2.
/// None where a single run, or a share of 0 or 1, tells nothing.
std::optional<double> dispersion(const SampleSummary& s, FigureKind kind);

/// Whether a share rests on so few clusters of requests that they have to be counted.
bool is_rare(const SampleSummary& s);

/// The figure is at most this, but for a chance of `alpha`. `usual` is the dispersion of cells
/// nearby, which counts where the runs have too few clusters of their own. A share whose clusters
/// were measured is bounded by clustered_upper instead.
double upper_bound(const SampleSummary& s, FigureKind kind, double alpha,
                   std::optional<double> usual = {});
/// At least this, likewise.
double lower_bound(const SampleSummary& s, FigureKind kind, double alpha,
                   std::optional<double> usual = {});

/// A share is at most, or at least, this, if `cluster` requests come as one: by counting clusters
/// and by the spread of runs, whichever is wider.
double clustered_upper(const SampleSummary& s, double alpha, double cluster);
double clustered_lower(const SampleSummary& s, double alpha, double cluster);

/// The upper bound of a share by counting alone, if `cluster` requests come as one. A run is at
/// least one cluster.
double counted_upper(const SampleSummary& s, double alpha, double cluster);
double counted_lower(const SampleSummary& s, double alpha, double cluster);

/// The relative standard error: of the odds of a share, of any other figure as it is. With `usual`,
/// at least what that says. For ranking; bounds take more into account.
double relative_error(const SampleSummary& s, FigureKind kind, std::optional<double> usual = {});

/// Student's t with P(T > t) = alpha, for any positive number of degrees of freedom (those below 1
/// count as 1): linear in 1/dof between whole ones. Preconditions: 0 < alpha < 0.5, dof > 0.
double upper_t(double alpha, double dof);

/// The largest mean of a Poisson count that is at most `count` with probability alpha.
double poisson_upper(std::uint32_t count, double alpha);
/// The smallest mean of one that is at least `count` with probability alpha.
double poisson_lower(std::uint32_t count, double alpha);

}  // namespace spillway
