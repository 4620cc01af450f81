// Distributions of gaps, counts and lengths beyond those of sim/rng, equal on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/rng.hpp"

namespace spillway {

/// Natural logarithm of the gamma function. Precondition: x > 0.
double ln_gamma(double x);

/// A gamma variate of mean 1 (Marsaglia and Tsang, 2000); its cv is 1 / sqrt(shape).
double unit_gamma(Stream& stream, double shape);

/// Weibull variates of mean 1.
class UnitWeibull {
 public:
  explicit UnitWeibull(double shape);
  double draw(Stream& stream) const;
  double cv() const;
  /// The distribution with this coefficient of variation, from 0.05 to 20.
  static UnitWeibull with_cv(double cv);

 private:
  double shape_;
  double scale_;
};

/// Counts of at least 1 with a given mean and P(count > n) falling as n^-tail (a Lomax
/// distribution, cut to whole numbers). Precondition: mean >= 1, tail > 1.
class HeavyTailCount {
 public:
  HeavyTailCount(double mean, double tail);
  /// From one uniform draw.
  std::uint64_t draw(Stream& stream) const;

 private:
  double tail_;
  double scale_;
};

/// Piecewise linear between quantiles at equal steps from 0 to 1.
class QuantileTable {
 public:
  explicit QuantileTable(std::vector<double> quantiles) : values_(std::move(quantiles)) {}
  bool empty() const { return values_.empty(); }
  double draw(Stream& stream) const;

 private:
  std::vector<double> values_;
};

}  // namespace spillway
