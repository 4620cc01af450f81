// Least squares on measured spans of time, each predicted from the parameters of a StepModel.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "scenarios/fit/fit_result.hpp"
#include "scenarios/fit/step_model.hpp"

namespace spillway {

/// Predictions of every span, in the order of the measured ones, seconds and positive.
using PredictSpans = std::function<std::vector<double>(std::span<const double>)>;

struct IntervalFit {
  std::vector<double> values;                         ///< in the order of the model's parameters
  std::map<std::string, FittedParameter> confidence;  ///< by name
  std::vector<std::string> warnings;                  ///< parameters on a bound
};

/// Robust: a span that is off by more than 10% pulls no harder than one that is off by 10%. Weak
/// priors keep what the spans do not tell where it starts. `overlap`: how many of the spans hold
/// the same instant, on average: so much less do they know than their number says.
IntervalFit fit_intervals(const StepModel& model, std::span<const double> measured,
                          const PredictSpans& predict, double overlap);

/// The same of `values` as they are, with nothing fitted.
IntervalFit judge_intervals(const StepModel& model, std::span<const double> values,
                            std::span<const double> measured, const PredictSpans& predict,
                            double overlap);

/// Throws InputError (exit 3) at `where` where the measured spans are off their predictions by a
/// factor that only a wrong unit explains.
void refuse_scale(const SourceRef& where, std::span<const double> measured,
                  std::span<const double> predicted);

/// Mean absolute, 95th percentile of absolute, and mean signed relative error.
struct SpanErrors {
  double mape = 0;
  double p95 = 0;
  double bias = 0;
};
SpanErrors span_errors(std::span<const double> measured, std::span<const double> predicted);

}  // namespace spillway
