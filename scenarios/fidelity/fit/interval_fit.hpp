// Least squares on measured spans of time, each predicted from the parameters of a FitForm.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/calibration/confidence.hpp"
#include "scenarios/fidelity/fit/fit_result.hpp"
#include "scenarios/fidelity/fit/step_model.hpp"

namespace spillway {

/// Predictions of every span, in the order of the measured ones, seconds and positive.
using PredictSpans = std::function<std::vector<double>(std::span<const double>)>;

struct IntervalFit {
  std::vector<double> values;                         ///< in the order of the model's parameters
  std::map<std::string, FittedParameter> confidence;  ///< by name
  std::vector<std::string> warnings;                  ///< parameters on a bound
  /// What noise and intervals were told at: parameters before their level was set, and the form's
  /// errors by class of steps, as logarithms.
  std::vector<double> near;
};

/// So much of a span's time went by in steps of one class.
struct StepShare {
  std::size_t of = 0;
  double share = 0;
};

/// Classes of steps that a form predicts alike, and errs on alike: those without prompts by octave
/// of decodes and of the tokens that one holds, those with prompts by octave of their new tokens.
class StepClasses {
 public:
  static std::uint32_t key_of(const StepShape& shape);
  std::size_t of(const StepShape& shape);
  std::size_t size() const { return keys_.size(); }

 private:
  std::vector<std::uint32_t> keys_;
};

/// Spans of one kind have the same noise; so many of them hold one instant, on average.
struct SpanKinds {
  std::vector<std::size_t> kind;  ///< of each span, an index into `overlap`
  std::vector<double> overlap = {1};
  /// Of each kind, the share that is here: the others were left out as far off, and are noise, too.
  std::vector<double> kept = {1};
  std::vector<TimeSpan> times;  ///< by the clock; empty: none shares a step with another
  std::vector<std::vector<StepShare>> steps;  ///< of each span; empty: form error is left out
  std::size_t classes = 0;                    ///< that `steps` name

  /// All of one kind, none within another.
  static SpanKinds alike(std::size_t spans);
};

/// One span of time that all steps fill, whichever request ran in which.
struct WholeSpan {
  double measured_s = 0;
  double simulated_s = 0;  ///< under the values of the schedule
  std::function<double(std::span<const double>)> predict;
};

/// Robust: a span that is off by more than 10% pulls no harder than one that is off by 10%. Kinds
/// weigh by their noise, which a first fit tells. Priors keep where it starts what the spans do not
/// tell; they, and intervals, allow for overlap: such spans know less than their number says.
/// The form may be off by FitForm::form_error() in each class of steps, on its own: what only
/// such errors tell apart stays at the prior, and intervals contain them.
/// At the end the level is set, however the form errs: the spans are off by nothing on average, or
/// `whole` is, where it is given.
/// `from`: IntervalFit::near of an earlier fit, which tells the noise as well; empty: none.
IntervalFit fit_intervals(const FitForm& model, std::span<const double> measured,
                          const SpanKinds& kinds, const PredictSpans& predict,
                          const std::vector<double>& from = {}, const WholeSpan* whole = nullptr);

/// The intervals of `values` as they are, by what `near` tells of noise, with nothing fitted.
IntervalFit judge_intervals(const FitForm& model, std::span<const double> values,
                            const std::vector<double>& near, std::span<const double> measured,
                            const SpanKinds& kinds, const PredictSpans& predict);

/// Throws InputError (exit 3) at `where` where the measured spans are off their predictions by a
/// factor that only a wrong unit explains.
void refuse_scale(const SourceRef& where, std::span<const double> measured,
                  std::span<const double> predicted);

/// Warns ahead of all else where a profile of the engine's own times is not to be used: it predicts
/// badly what it did not see, most of `spans` were left out, or the data decided no parameter.
void warn_unusable(const FitScore& score, std::size_t left_out, std::size_t spans,
                   std::vector<std::string>& warnings);

/// Warns, where it is so, which parameters the data did not identify, and what would; ahead of all
/// else where they identified none.
void warn_unidentified(const std::map<std::string, FittedParameter>& parameters,
                       const StepModel& model, std::vector<std::string>& warnings);

/// Warns where times are off one way even where they were fitted, by more than forms usually are.
void warn_biased(const FitScore& score, const StepModel& model, std::vector<std::string>& warnings);

/// Mean absolute, 95th percentile of absolute, and mean signed relative error.
struct SpanErrors {
  double mape = 0;
  double p95 = 0;
  double bias = 0;
};
SpanErrors span_errors(std::span<const double> measured, std::span<const double> predicted);

}  // namespace spillway
