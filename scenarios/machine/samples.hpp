// Repeated measurements summed up, and the clock that they are taken with.
#pragma once

#include <algorithm>
#include <vector>

#include "models/calibration/profile.hpp"
#include "sim/quantile.hpp"

namespace spillway {

/// Seconds on a clock that never goes back; its origin means nothing.
double monotonic_s();

/// A cell whose samples vary more than this is measured again.
inline constexpr double kUnstableCv = 0.05;

/// When a cell that could take more samples has enough: a twentieth of the budget, 3 s at most.
double longest_cell_s(double budget_s);

/// Standard deviation / mean; 0 of fewer than two samples.
double variation(const std::vector<double>& samples);

Spread spread_of(std::vector<double> samples_us);

/// Sorts the times of a cell's operations, and puts their quantiles into it.
template <class Cell>
void tell_latency(Cell& cell, std::vector<double>& times_us) {
  std::sort(times_us.begin(), times_us.end());
  cell.lat_p50_us = quantile(times_us, 0.5);
  cell.lat_p90_us = quantile(times_us, 0.9);
  cell.lat_p99_us = quantile(times_us, 0.99);
}

}  // namespace spillway
