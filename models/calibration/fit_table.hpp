// Reading a fitted table: interpolated in the logarithms of both arguments and of the value, as
// links do (models/link/rate_table.cpp), so that a fit's errors are those of the simulation.
#pragma once

#include "models/calibration/profile.hpp"
#include "models/link/link_model.hpp"

namespace spillway {

/// Outside the grid the nearest edge's value holds.
double value_at(const FitTable& table, double x, double y);
/// Whether (x, y) lies among cells that were measured; beyond, value_at() extrapolates.
bool within(const FitTable& table, double x, double y);

/// A copy fit for a link. Precondition: the table is not empty.
RateTable rate_table(const FitTable& table, std::string source);

}  // namespace spillway
