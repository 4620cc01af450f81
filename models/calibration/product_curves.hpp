// The curves of a compute profile from measured ratios of products.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "models/compute/compute_profile.hpp"

namespace spillway {

/// Ratio by number of rows, by shape (inputs, outputs).
using ProductRatios = std::map<std::pair<double, double>, std::map<double, double>>;

/// One curve for each shape. A number of rows that a shape lacks and others near it have is filled
/// in: tiles of rows end at the same numbers in all of them, so they step up or down there
/// together. Rows that the line between their neighbours tells within 7% are left out.
std::vector<ProductCurve> product_curves(const ProductRatios& ratios);

}  // namespace spillway
