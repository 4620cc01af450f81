#include "sim/student_t.hpp"

#include <algorithm>
#include <cmath>

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr double kHalfPi = 1.57079632679489661923;
constexpr double kCertain = 1e100;  // beyond it p is below any rounding, and squares overflow

/// Halves the angle until its series converges in a few terms.
double arc_tangent(double x) {
  if (x > 1) return kHalfPi - arc_tangent(1 / x);
  double scale = 1;
  while (x > 0.05) {
    x = x / (1 + std::sqrt(1 + x * x));
    scale *= 2;
  }
  double power = x;
  double sum = 0;
  for (int k = 1; k < 20; k += 2, power *= -x * x) sum += power / k;
  return scale * sum;
}

/// P(|T| <= t) for t >= 0.
double within(double t, std::uint32_t dof) {
  const double n = dof;
  const double cos2 = n / (n + t * t);
  const double sine = t / std::sqrt(n + t * t);
  const bool odd = dof % 2 == 1;
  // 1 + 1/2 cos^2 + (1 3)/(2 4) cos^4 + ..., or cos + 2/3 cos^3 + (2 4)/(3 5) cos^5 + ...
  double term = odd ? std::sqrt(cos2) : 1;
  double sum = 0;
  for (std::uint32_t k = odd ? 3 : 2; k <= dof; k += 2) {
    sum += term;
    term *= cos2 * (k - 1) / k;
  }
  if (!odd) return sine * sum;
  return (arc_tangent(t / std::sqrt(n)) + sine * sum) / kHalfPi;
}

}  // namespace

double student_t_p(double t, std::uint32_t dof) {
  KV_ASSERT(dof > 0, "no degrees of freedom");
  const double size = std::fabs(t);
  if (size > kCertain) return 0;
  return std::clamp(1 - within(size, dof), 0.0, 1.0);
}

double student_t_quantile(double confidence, std::uint32_t dof) {
  KV_ASSERT(dof > 0 && confidence > 0 && confidence < 1, "no quantile {} of {} degrees", confidence,
            dof);
  double high = 1;
  while (within(high, dof) < confidence) high *= 2;
  double low = 0;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (within(middle, dof) < confidence ? low : high) = middle;
  }
  return high;
}

}  // namespace spillway
