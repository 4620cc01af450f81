// Ratios of measured time over a form's, put on a grid: what a compute profile keeps of the rows
// that its parameters were fitted to.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "models/compute/compute_profile.hpp"

namespace spillway {

/// To so many digits: further ones are noise of the measurement.
double rounded(double value, int digits = 4);

struct RatioPoint {
  std::array<double, 3> at{};
  double ratio = 1;
  double weight = 1;
};

/// Values of an argument that are at least `spacing` times apart, from the least on.
std::vector<double> thinned(std::vector<double> values, double spacing);

/// The weighted median of the points nearest to each crossing. Axes are the values measured, near
/// duplicates (closer than `spacing`) thinned. A crossing that nothing was measured at takes its
/// value from its neighbours along the axes in `fill_order`, the one that matters least first.
/// Empty where there are no points.
RatioGrid median_grid(std::span<const RatioPoint> points, const std::array<double, 3>& spacing,
                      const std::array<std::size_t, 3>& fill_order);
/// Of the points of a curve, ascending in x, those that matter: the others are within `tolerance`
/// of the line between their kept neighbours (Douglas and Peucker). Indices, ascending.
std::vector<std::size_t> kept_points(std::span<const double> x, std::span<const double> y,
                                     double tolerance);

/// The same as a profile keeps it: within a thousandth and a thousand, to three digits.
RatioGrid fit_grid(std::span<const RatioPoint> points, const std::array<double, 3>& spacing,
                   const std::array<std::size_t, 3>& fill_order);
/// One ratio likewise.
double kept_ratio(double ratio);

}  // namespace spillway
