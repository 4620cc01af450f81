#include "traces/generate/distributions.hpp"

#include <algorithm>
#include <cmath>

#include "sim/det_math.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr int kBisections = 100;

/// Where `rising` crosses 0 between `low` and `high`.
template <class F>
double root(double low, double high, F rising) {
  for (int i = 0; i < kBisections; ++i) {
    const double middle = low + (high - low) / 2;
    (rising(middle) < 0 ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

}  // namespace

double ln_gamma(double x) {
  KV_ASSERT(x > 0, "ln_gamma({})", x);
  double below = 0;  // the recurrence, up to where Stirling's series is exact to the last digits
  for (; x < 16; x += 1) below += det::ln(x);
  const double inverse = 1 / x;
  const double square = inverse * inverse;
  const double series =
      inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
  constexpr double kHalfLnTwoPi = 0.91893853320467274178;
  return (x - 0.5) * det::ln(x) - x + kHalfLnTwoPi + series - below;
}

double unit_gamma(Stream& stream, double shape) {
  KV_ASSERT(shape > 0, "a gamma distribution of shape {}", shape);
  double factor = 1 / shape;
  double k = shape;
  if (shape < 1) {
    factor *= det::exp(det::ln(1 - stream.uniform()) / shape);
    k = shape + 1;
  }
  const double d = k - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = stream.normal();
    const double v = 1 + c * x;
    if (v <= 0) continue;
    const double cube = v * v * v;
    const double u = 1 - stream.uniform();
    if (det::ln(u) < 0.5 * x * x + d - d * cube + d * det::ln(cube)) return factor * d * cube;
  }
}

UnitWeibull::UnitWeibull(double shape) : shape_(shape), scale_(det::exp(-ln_gamma(1 + 1 / shape))) {
  KV_ASSERT(shape > 0, "a Weibull distribution of shape {}", shape);
}

double UnitWeibull::draw(Stream& stream) const {
  const double e = stream.exponential(1);
  return e > 0 ? scale_ * det::pow(e, 1 / shape_) : 0;
}

double UnitWeibull::cv() const {
  const double ratio = det::exp(ln_gamma(1 + 2 / shape_) - 2 * ln_gamma(1 + 1 / shape_));
  return std::sqrt(std::max(0.0, ratio - 1));
}

UnitWeibull UnitWeibull::with_cv(double cv) {
  return UnitWeibull(root(0.1, 100, [&](double shape) { return cv - UnitWeibull(shape).cv(); }));
}

HeavyTailCount::HeavyTailCount(double mean, double tail) : tail_(tail), scale_(0) {
  KV_ASSERT(mean >= 1 && tail > 1, "counts of mean {} and tail {}", mean, tail);
  if (mean == 1) return;
  // 1 + the sum of P(count > n) = (1 + n / scale)^-tail over n >= 1, its end as an integral.
  const auto mean_of = [&](double scale) {
    constexpr int kTerms = 256;
    double sum = 1;
    for (int n = 1; n < kTerms; ++n) sum += det::pow(1 + n / scale, -tail);
    const double last = det::pow(1 + kTerms / scale, -tail);
    return sum + last / 2 + last * (scale + kTerms) / (tail - 1);
  };
  scale_ = root(0, mean * tail, [&](double scale) { return mean_of(scale) - mean; });
}

std::uint64_t HeavyTailCount::draw(Stream& stream) const {
  constexpr double kMost = 1e15;
  const double u = 1 - stream.uniform();
  const double more = scale_ * (det::pow(u, -1 / tail_) - 1);
  return 1 + static_cast<std::uint64_t>(std::min(more, kMost));
}

double QuantileTable::draw(Stream& stream) const {
  const double at = stream.uniform() * static_cast<double>(values_.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values_.size() - 1);
  return values_[low] + (at - static_cast<double>(low)) * (values_[high] - values_[low]);
}

}  // namespace spillway
