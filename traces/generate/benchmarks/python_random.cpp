#include "traces/generate/benchmarks/python_random.hpp"

#include <bit>
#include <cmath>

#include "sim/det_math.hpp"

namespace spillway {

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kE = 2.71828182845904523536;

/// cos and sin of an angle from 0 to pi/4, by their series.
std::pair<double, double> small_cos_sin(double angle) {
  const double square = angle * angle;
  double cosine = 1;
  double sine = 1;
  for (int n = 18; n >= 2; n -= 2) {
    cosine = 1 - square / (n * (n - 1)) * cosine;
    sine = 1 - square / (n * (n + 1)) * sine;
  }
  return {cosine, angle * sine};
}

/// cos and sin of that many turns, from 0 to 1.
std::pair<double, double> cos_sin_of_turns(double turns) {
  const double eighths = turns * 8;
  const auto octant = static_cast<int>(eighths);
  const double part = eighths - octant;
  const bool falls = octant % 2 == 1;
  auto [c, s] = small_cos_sin((falls ? 1 - part : part) * (kPi / 4));
  if (falls) std::swap(c, s);
  switch (octant / 2 % 4) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

}  // namespace

std::uint32_t PythonRandom::below(std::uint32_t n) {
  const auto bits = static_cast<std::uint32_t>(std::bit_width(n));
  std::uint32_t out = words_.word() >> (32 - bits);
  while (out >= n) out = words_.word() >> (32 - bits);
  return out;
}

double PythonRandom::gauss(double mean, double deviation) {
  double z = 0;
  if (spare_) {
    z = *spare_;
    spare_.reset();
  } else {
    const auto [cosine, sine] = cos_sin_of_turns(uniform());
    const double radius = std::sqrt(-2 * det::ln(1 - uniform()));
    z = cosine * radius;
    spare_ = sine * radius;
  }
  return mean + z * deviation;
}

double PythonRandom::exponential(double rate) {
  return -det::ln(1 - uniform()) / rate;
}

double PythonRandom::gamma(double shape) {
  if (shape == 1) return exponential(1);
  if (shape > 1) {  // Cheng (1977), rejection from the log-logistic distribution
    const double root = std::sqrt(2 * shape - 1);
    const double offset = shape - det::ln(4);
    for (;;) {
      const double u = uniform();
      if (!(u > 1e-7 && u < 0.9999999)) continue;
      const double w = 1 - uniform();
      const double v = det::ln(u / (1 - u)) / root;
      const double x = shape * det::exp(v);
      const double z = u * u * w;
      const double r = offset + (shape + root) * v - x;
      if (r + (1 + det::ln(4.5)) - 4.5 * z >= 0 || r >= det::ln(z)) return x;
    }
  }
  for (;;) {  // Ahrens and Dieter (1974), algorithm GS
    const double b = (kE + shape) / kE;
    const double p = b * uniform();
    const double x = p <= 1 ? det::pow(p, 1 / shape) : -det::ln((b - p) / shape);
    const double u = uniform();
    if (u <= (p > 1 ? det::pow(x, shape - 1) : det::exp(-x))) return x;
  }
}

std::int64_t python_round(double value) {
  const double floor = std::floor(value);
  const double rest = value - floor;
  const auto whole = static_cast<std::int64_t>(floor);
  const bool up = rest > 0.5 || (rest == 0.5 && whole % 2 != 0);
  return whole + (up ? 1 : 0);
}

}  // namespace spillway
