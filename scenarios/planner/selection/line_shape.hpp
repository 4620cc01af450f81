// The shape of a figure along a line of sizes: whether it only ever gets better, and what it is
// then, smoothed.
#pragma once

#include <span>
#include <vector>

namespace spillway {

/// A figure of one cell of a line: its distance to the limit (more is better) and standard error.
struct ShapePoint {
  double distance = 0;
  double error = 0;
};

/// No point is worse than an earlier one by more than their errors allow.
bool is_monotone(std::span<const ShapePoint> line);

/// The least-squares fit that never falls, each point weighted by 1/error^2 (pool adjacent
/// violators, Ayer et al. 1955).
std::vector<double> isotonic_fit(std::span<const ShapePoint> line);

}  // namespace spillway
