// A random choice of units whose sums of features are a given share of the totals.
//
// A plain random tenth of a few hundred units is off by several percent in whatever one counts;
// exchanging chosen units for others until the sums fit takes most of that error away and leaves
// the choice random otherwise (balanced sampling, Tille 2006, by local search).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/rng.hpp"

namespace spillway {

/// Features of units, one row a unit. Each should be in the same measure, as sums are compared.
struct UnitFeatures {
  std::uint32_t units = 0;
  std::uint32_t width = 0;
  std::vector<double> values{};  ///< units x width

  const double* of(std::uint32_t unit) const { return values.data() + std::size_t{unit} * width; }
  double* of(std::uint32_t unit) { return values.data() + std::size_t{unit} * width; }
};

/// Which units are chosen: at least one.
std::vector<bool> balanced_choice(const UnitFeatures& features, double share, Stream& random);

}  // namespace spillway
