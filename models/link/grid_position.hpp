// Where a value lies in an ascending grid; outside it, at the nearest edge.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace spillway {

/// Index of the grid point below, of the one above, and the weight of the latter.
struct GridPosition {
  std::size_t low;
  std::size_t high;
  double weight;
};

/// Weights are linear in `scale` of the values, which ascends as they do. Precondition: the grid is
/// not empty.
template <class Scale>
GridPosition locate(const std::vector<double>& grid, double value, Scale scale) {
  if (value <= grid.front()) return {0, 0, 0};
  if (value >= grid.back()) return {grid.size() - 1, grid.size() - 1, 0};
  const auto it = std::upper_bound(grid.begin(), grid.end(), value);
  const auto high = static_cast<std::size_t>(it - grid.begin());
  const double low = scale(grid[high - 1]);
  return {high - 1, high, (scale(value) - low) / (scale(grid[high]) - low)};
}

}  // namespace spillway
