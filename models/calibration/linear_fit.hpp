// Ordinary least squares, with standard errors.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace spillway {

struct LinearFit {
  std::vector<double> value;  ///< of each column
  std::vector<double> error;  ///< standard errors; 0: the fit is exact, or nothing depends on it
};

/// `x` row by row, `columns` each; as many rows as `y` has values, at least one.
LinearFit fit_linear(std::span<const double> x, std::size_t columns, std::span<const double> y);

}  // namespace spillway
