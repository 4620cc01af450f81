// Copy cells: a table per direction, method, memory and pattern; what submission costs; how other
// NUMA nodes, GPUs and streams compare.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/calibration/profile.hpp"

namespace spillway {

void fit_copies(const HardwareProfile& profile, std::vector<FitRecord>& fits,
                std::vector<std::string>& warnings);

/// y = fixed + slope x with the least relative error, neither below 0, outliers bounded. Form
/// affine. Precondition: y > 0.
FitRecord fit_line(const std::vector<std::pair<double, double>>& points);

}  // namespace spillway
