#include "reports/charts/axis.hpp"

#include <algorithm>
#include <cmath>

namespace spillway {

namespace {

/// 1, 2 or 5 times a power of ten, at least `step`.
double nice(double step) {
  const double magnitude = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (step <= factor * magnitude) return factor * magnitude;
  }
  return 10 * magnitude;
}

}  // namespace

void Range::add(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

Axis::Axis(std::size_t names) : log_(false), low_(-0.5), high_(static_cast<double>(names) - 0.5) {}

Axis::Axis(double low, double high, bool logarithmic) : log_(logarithmic) {
  if (log_) {
    low_ = std::max(-307.0, std::floor(std::log10(low)));  // normal doubles only
    high_ = std::clamp(std::ceil(std::log10(high)), low_ + 1, 308.0);
    const double decades = std::max(1.0, std::ceil((high_ - low_) / 10));
    for (double e = low_; e <= high_; e += decades) ticks_.push_back(std::pow(10, e));
    return;
  }
  // A range that doubles can divide into steps, even around one value or next to a huge one.
  constexpr double kMost = 1e300;
  low = std::clamp(low, -kMost, kMost);
  high = std::clamp(high, -kMost, kMost);
  const double resolution = 1e-9 * std::max(std::fabs(low), std::fabs(high));
  if (high - low <= std::max(resolution, 1e-300)) high = low + std::max(resolution, 1.0);
  const double step = nice((high - low) / 5);
  low_ = std::floor(low / step) * step;
  high_ = std::ceil(high / step) * step;
  for (int i = 0; low_ + i * step <= high_ + step / 2; ++i) {
    const double tick = low_ + i * step;
    ticks_.push_back(std::fabs(tick) < step * 1e-9 ? 0 : tick);  // -0.6 + 3 * 0.2 is not quite 0
  }
}

double Axis::at(double value) const {
  const double v = log_ ? std::log10(value) : value;
  return std::clamp((v - low_) / (high_ - low_), 0.0, 1.0);
}

}  // namespace spillway
