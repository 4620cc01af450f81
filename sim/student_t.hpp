// Student's t distribution for whole degrees of freedom, from + - * / and square roots alone, so
// that an interval is the same on every machine.
//
// The probability is the finite sum of Abramowitz and Stegun, Handbook of Mathematical Functions,
// 26.7.3 and 26.7.4; the quantile is found by bisection on it.
#pragma once

#include <cstdint>

namespace spillway {

/// P(|T| > |t|). Absolute error below 1e-14; 0 for an infinite t. Precondition: dof > 0.
double student_t_p(double t, std::uint32_t dof);

/// The t with P(|T| <= t) = confidence, e.g. 2.262 for 0.95 and 9 degrees of freedom.
/// Preconditions: 0 < confidence < 1, dof > 0.
double student_t_quantile(double confidence, std::uint32_t dof);

}  // namespace spillway
