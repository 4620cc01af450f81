#include "scenarios/experiment/target_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/det_math.hpp"
#include "sim/error.hpp"
#include "sim/student_t.hpp"

namespace spillway {

namespace {

constexpr double kShareKurtosis = 3;    // times cv^2: see the header
constexpr double kFigureKurtosis = 30;  // likewise
// With less than this many runs' worth of (mean / standard error)^2 a share rests on a handful of
// clusters: their number is bounded, not their spread.
constexpr double kFewClusters = 4;
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr std::uint32_t kManyRuns = 10;  // whose spread is known within a fourth
constexpr double kMostSteps = 600;       // of e: what follows stays finite
// From here on Wilson and Hilferty's cube (1931) is within 0.01% of a Poisson bound, and sums of
// exp(-mean) would leave the range of doubles.
constexpr std::uint32_t kManyCounts = 200;

/// Of the variance of `s` runs, where a run has this cv^2.
double degrees_of_freedom(const SampleSummary& s, double cv2, double kurtosis) {
  const double n = s.runs;
  return 2 / (2 / (n - 1) + kurtosis * cv2 / n);
}

/// The variance that a run has at least: that of independent requests.
double share_variance(const SampleSummary& s) {
  return std::max(s.variance, s.mean * (1 - s.mean) / s.requests);
}

double spread_upper(const SampleSummary& s, double alpha) {
  const double variance = share_variance(s);
  const double dof = degrees_of_freedom(s, variance / (s.mean * s.mean), kShareKurtosis);
  const double odds = s.mean / (1 - s.mean);
  const double error = std::sqrt(variance / s.worth) / (s.mean * (1 - s.mean));
  const double worst = odds * det::exp(std::min(kMostSteps, upper_t(alpha, dof) * error));
  return worst / (1 + worst);
}

double share_upper(const SampleSummary& s, double alpha, std::optional<double> usual) {
  if (s.mean >= 1) return 1;
  if (!is_rare(s)) return spread_upper(s, alpha);
  const double own = dispersion(s, FigureKind::kShare).value_or(1);
  const double counted = counted_upper(s, alpha, std::max(own, usual.value_or(kUnseenCluster)));
  return s.runs < 2 || s.mean == 0 ? counted : std::max(counted, spread_upper(s, alpha));
}

/// `side`: 1 above, -1 below.
double figure_bound(const SampleSummary& s, double alpha, double side) {
  if (s.runs < 2) return side * kLargest;
  const double error = std::sqrt(s.variance / s.worth);
  if (s.mean <= 0) return s.mean + side * upper_t(alpha, s.runs - 1) * error;
  const double dof = degrees_of_freedom(s, s.variance / (s.mean * s.mean), kFigureKurtosis);
  const double steps = std::min(kMostSteps, upper_t(alpha, dof) * error / s.mean);
  return s.mean * det::exp(side * steps);
}

SampleSummary mirrored(SampleSummary s) {
  s.mean = 1 - s.mean;
  return s;
}

}  // namespace

SampleSummary summarise(std::span<const double> x, std::span<const double> weight, FigureKind kind,
                        Replication replication, double length) {
  KV_ASSERT(weight.empty() || weight.size() == x.size(), "{} weights for {} runs", weight.size(),
            x.size());
  SampleSummary out;
  double requests = 0;
  double sum = 0;
  const auto weight_of = [&](std::size_t i) { return weight.empty() ? 1.0 : weight[i]; };
  const auto counts = [&](std::size_t i) {
    return kind == FigureKind::kShare ? weight_of(i) : 1.0;
  };
  double total = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (weight_of(i) <= 0) continue;
    ++out.runs;
    requests += weight_of(i);
    total += counts(i);
    sum += counts(i) * x[i];
  }
  if (out.runs == 0) return out;
  const double n = out.runs;
  out.mean = sum / total;
  out.requests = requests / n;
  // Of a ratio of sums: runs with more requests pull more (Cochran 1977, 6.4).
  for (std::size_t i = 0; i < x.size() && out.runs > 1; ++i) {
    if (weight_of(i) <= 0) continue;
    const double residual = counts(i) / (total / n) * (x[i] - out.mean);
    out.variance += residual * residual / (n - 1);
  }
  out.worth = 1 / (1 / n + (replication == Replication::kResampled ? length : 0));
  return out;
}

std::optional<double> dispersion(const SampleSummary& s, FigureKind kind) {
  if (s.runs < 2 || s.mean == 0) return {};
  if (kind == FigureKind::kFigure) return s.variance / (s.mean * s.mean);
  if (s.mean <= 0 || s.mean >= 1) return {};
  return std::max(1.0, s.variance * s.requests / (s.mean * (1 - s.mean)));
}

bool is_rare(const SampleSummary& s) {
  const double variance = share_variance(s);
  return s.runs < 2 || s.worth * s.mean * s.mean < kFewClusters * variance || s.mean == 0;
}

double upper_bound(const SampleSummary& s, FigureKind kind, double alpha,
                   std::optional<double> usual) {
  if (s.runs == 0) return kind == FigureKind::kShare ? 1 : kLargest;
  return kind == FigureKind::kShare ? share_upper(s, alpha, usual) : figure_bound(s, alpha, 1);
}

double counted_upper(const SampleSummary& s, double alpha, double cluster) {
  if (s.runs == 0) return 1;
  const double independent = s.requests * s.worth / std::min(s.requests, cluster);
  const auto seen = static_cast<std::uint32_t>(std::ceil(s.mean * independent));
  return std::min(1.0, poisson_upper(seen, alpha) / independent);
}

double counted_lower(const SampleSummary& s, double alpha, double cluster) {
  if (s.runs == 0) return 0;
  const double independent = s.requests * s.worth / std::min(s.requests, cluster);
  return poisson_lower(static_cast<std::uint32_t>(s.mean * independent), alpha) / independent;
}

double clustered_upper(const SampleSummary& s, double alpha, double cluster) {
  const double counted = counted_upper(s, alpha, cluster);
  // Few clusters beyond the limit say less of their spread than what `cluster` rests on.
  if (is_rare(s)) return counted;
  return s.mean >= 1 ? 1 : std::max(counted, spread_upper(s, alpha));
}

double clustered_lower(const SampleSummary& s, double alpha, double cluster) {
  const double counted = counted_lower(s, alpha, cluster);
  if (s.mean <= 0 || s.mean >= 1 || is_rare(s)) return counted;
  // Runs are independent, whatever their queues: where many show slow requests, their spread tells.
  const double by_spread = 1 - spread_upper(mirrored(s), alpha);
  return s.runs >= kManyRuns ? by_spread : std::min(counted, by_spread);
}

double lower_bound(const SampleSummary& s, FigureKind kind, double alpha,
                   std::optional<double> usual) {
  if (s.runs == 0) return kind == FigureKind::kShare ? 0 : -kLargest;
  return kind == FigureKind::kShare ? 1 - share_upper(mirrored(s), alpha, usual)
                                    : figure_bound(s, alpha, -1);
}

double relative_error(const SampleSummary& s, FigureKind kind, std::optional<double> usual) {
  const double own = dispersion(s, kind).value_or(0);
  const double spread = std::max(own, usual.value_or(0));
  if (kind == FigureKind::kFigure) return std::sqrt(spread / s.worth);
  // At least one half of a request missed and one half met, lest the odds be 0 or infinite.
  const double requests = s.requests * s.worth;
  const double half = std::min(0.5, 0.5 / requests);
  const double p = std::clamp(s.mean, half, 1 - half);
  return std::sqrt(std::max(1.0, spread) / (requests * p * (1 - p)));
}

double upper_t(double alpha, double dof) {
  const double whole = std::max(1.0, std::floor(dof));
  const auto n = static_cast<std::uint32_t>(std::min(whole, 1e6));
  const double below = student_t_quantile(1 - 2 * alpha, n);
  if (dof <= whole) return below;
  const double above = student_t_quantile(1 - 2 * alpha, n + 1);
  const double part = (1 / whole - 1 / dof) / (1 / whole - 1 / (whole + 1));
  return below + part * (above - below);
}

namespace {

/// P(X <= count) of a Poisson count with this mean.
double poisson_at_most(std::uint32_t count, double mean) {
  double term = det::exp(-mean);
  double sum = term;
  for (std::uint32_t k = 1; k <= count; ++k) {
    term *= mean / k;
    sum += term;
  }
  return sum;
}

/// The mean at which P(X <= count) is `chance`.
double mean_at(std::uint32_t count, double chance) {
  double high = 1;
  while (poisson_at_most(count, high) > chance) high *= 2;
  double low = 0;
  for (int i = 0; i < 80; ++i) {
    const double middle = (low + high) / 2;
    (poisson_at_most(count, middle) > chance ? low : high) = middle;
  }
  return high;
}

/// The quantile of a gamma distribution of this shape, `z` standard deviations of its cube root up.
double gamma_quantile(double shape, double z) {
  const double root = 1 - 1 / (9 * shape) + z / (3 * std::sqrt(shape));
  return shape * root * root * root;
}

double normal_quantile(double alpha) {
  return upper_t(alpha, 1e6);
}

}  // namespace

double poisson_upper(std::uint32_t count, double alpha) {
  if (count >= kManyCounts) return gamma_quantile(count + 1.0, normal_quantile(alpha));
  return mean_at(count, alpha);
}

double poisson_lower(std::uint32_t count, double alpha) {
  if (count == 0) return 0;
  if (count >= kManyCounts) return gamma_quantile(count, -normal_quantile(alpha));
  return mean_at(count - 1, 1 - alpha);
}

}  // namespace spillway
