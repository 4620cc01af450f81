// Ratios of measured to formula times, made ready for use: logarithms taken once, so that a look-up
// allocates nothing and takes one logarithm per argument.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

#include "models/compute/compute_profile.hpp"

namespace spillway {

/// A RatioGrid: multilinear in the logarithms of arguments and ratio.
class RatioTable {
 public:
  static constexpr std::size_t kMostAxes = 4;

  RatioTable() = default;  ///< 1 everywhere
  /// Preconditions: at most kMostAxes axes, ascending and positive; a ratio for each of their
  /// crossings, positive.
  explicit RatioTable(const RatioGrid& grid);

  bool empty() const { return values_.empty(); }
  /// With the argument `axis` fixed at `value`: a table over the others.
  RatioTable fixed(std::size_t axis, double value) const;
  /// Precondition: as many arguments as axes.
  double at(std::initializer_list<double> arguments) const;
  /// log2 of the ratio, 0 where empty, from arguments through log_of(): for callers who look one up
  /// in several tables.
  double log2_at(std::span<const double> logs) const;
  static double log_of(double argument);

 private:
  struct Axis {
    std::vector<double> at;  ///< log2, ascending
    std::size_t stride = 1;
  };
  struct Cell {
    std::size_t index;  ///< of the value at or before it
    double share;       ///< of the next one
  };
  static Cell cell_of(const Axis& axis, double log);

  std::vector<Axis> axes_;
  std::vector<double> values_;  ///< log2
};

/// The ratio of one shape of product over its rows, from the curves of the shapes nearest to it:
/// weighted by the inverse fourth power of the distance in (ln inputs, ln outputs), six of them; a
/// shape that was measured itself counts alone.
class ProductRatio {
 public:
  ProductRatio() = default;  ///< 1 everywhere
  ProductRatio(std::span<const ProductCurve> curves, double inputs, double outputs);

  double at(double rows) const;
  /// How far the nearest measured shape is, in ln; 0 for one that was measured itself.
  double distance() const { return distance_; }

 private:
  struct Part {
    double weight;
    std::vector<double> rows;    ///< log2
    std::vector<double> ratios;  ///< log2
  };
  std::vector<Part> parts_;
  double distance_ = 0;
};

}  // namespace spillway
