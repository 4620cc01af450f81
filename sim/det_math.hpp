// log2 and exp2 from + - * / alone, so that step times and random draws are equal on every
// machine. libm's results differ by CPU and version; these depend on IEEE-754 doubles only.
// Accuracy: relative error below 1e-15 over the normal range (checked against libm in the tests).
#pragma once

#include <algorithm>

namespace spillway::det {

/// Precondition: x is finite and positive.
double log2(double x);
/// exp2 of anything below -1022 is 0; above 1023 it is infinity.
double exp2(double x);

inline double ln(double x) {
  return log2(x) * 0.69314718055994530942;
}
inline double exp(double x) {
  return exp2(x * 1.44269504088896340736);
}
/// Precondition: base > 0.
inline double pow(double base, double exponent) {
  return exp2(exponent * log2(base));
}
/// (a^p + b^p)^(1/p). Preconditions: a and b not negative, one of them positive; p > 0.
inline double norm(double a, double b, double p) {
  const double larger = std::max(a, b);
  return larger * pow(1 + pow(std::min(a, b) / larger, p), 1 / p);
}

}  // namespace spillway::det
