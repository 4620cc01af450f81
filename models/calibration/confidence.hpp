// How far the data pin down what was fitted to them.
#pragma once

#include <span>
#include <vector>

namespace spillway {

/// Standard deviations of parameters that were fitted by least squares. `slopes[i][k]`: what point
/// i's residual gains per unit of parameter k. `noise`: standard deviation of a residual. `prior`:
/// of each parameter, before the data; what the data do not tell keeps it.
std::vector<double> deviations(std::span<const std::vector<double>> slopes, double noise,
                               std::span<const double> prior);

}  // namespace spillway
