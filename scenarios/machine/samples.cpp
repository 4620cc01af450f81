#include "scenarios/machine/samples.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "sim/quantile.hpp"

namespace spillway {

double monotonic_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double longest_cell_s(double budget_s) {
  return std::clamp(budget_s / 20, 0.1, 3.0);
}

double variation(const std::vector<double>& samples) {
  if (samples.size() < 2) return 0;
  const auto n = static_cast<double>(samples.size());
  double mean = 0;
  for (const double s : samples) mean += s / n;
  double square = 0;
  for (const double s : samples) square += (s - mean) * (s - mean) / n;
  return mean > 0 ? std::sqrt(square) / mean : 0;
}

Spread spread_of(std::vector<double> samples_us) {
  Spread out;
  out.samples = static_cast<std::uint32_t>(samples_us.size());
  if (samples_us.empty()) return out;
  out.cv = variation(samples_us);
  std::sort(samples_us.begin(), samples_us.end());
  out.med_us = quantile(samples_us, 0.5);
  out.p10_us = quantile(samples_us, 0.1);
  out.p90_us = quantile(samples_us, 0.9);
  out.p99_us = quantile(samples_us, 0.99);
  return out;
}

}  // namespace spillway
