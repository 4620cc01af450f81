// How far the data pin down what was fitted to them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace spillway {

/// From when to when a span of time was measured, seconds.
using TimeSpan = std::pair<double, double>;

/// How alike the noise of two spans is that hold common steps, each of them as noisy as the others:
/// the time they share over the geometric mean of their lengths. 1 of a span with itself.
double shared_noise(const TimeSpan& a, const TimeSpan& b);

/// What a fit by least squares knows of its points.
struct FittedPoints {
  /// slopes[i][k]: what point i's residual gains per unit of parameter k, over its noise.
  std::vector<std::vector<double>> slopes;
  /// Residuals over their noise.
  std::vector<double> residuals;
  /// When each was measured; empty: each is noisy by itself.
  std::vector<TimeSpan> times;
  /// What the fit counted each for, beside its noise.
  std::vector<double> weights;
  /// How much of the noise is that of steps, which spans share; the rest is each one's own.
  double common = 1;
};

/// That part, as the residuals tell: by least squares, what products of two of them are to
/// `shared_noise` of theirs. 0 to 1; 0 where no two share time.
double common_noise(std::span<const double> residuals, const std::vector<TimeSpan>& times);

/// By how much sums of residuals over blocks of time vary more than `shared_noise` explains, as a
/// factor of their variance, at least 1: residuals that follow one another are alike where the
/// machine or the schedule drifted. 1 where there are too few points.
double overdispersion(const FittedPoints& points);

/// Covariance of the parameters, row by row. `prior`: of each, before the data; what the data do
/// not tell keeps it. A sandwich: the fit took its points for independent, by their weights; their
/// noise is shared as their times tell, times `overdispersion`.
std::vector<std::vector<double>> covariance(const FittedPoints& points,
                                            std::span<const double> prior);

}  // namespace spillway
