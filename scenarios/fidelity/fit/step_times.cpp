#include "scenarios/fidelity/fit/step_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/fidelity/fit/interval_fit.hpp"
#include "scenarios/fidelity/fit/step_model.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "sim/det_math.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::size_t kStepsPerParameter = 5;
constexpr std::size_t kWorst = 10;
constexpr double kFar = 0.25;

StepShape shape_of(const TimedStep& step) {
  StepShape out = step.shape;
  out.prefills = step.prefills;
  return out;
}

bool replays(const TimedStep& step, std::uint32_t graph_tokens) {
  return step.graph ? *step.graph : step.tokens() <= graph_tokens;
}

class StepFit {
 public:
  StepFit(const StepTimes& times, const Scenario& scenario, const LogFitOptions& options)
      : times_(times),
        model_(scenario, varied(times, scenario, options),
               options.kernels ? &*options.kernels : nullptr) {
    const std::size_t needed = kStepsPerParameter * model_.parameters().size();
    if (times.steps.size() < needed) {
      throw InputError(Fault::kTrace, {times.path, 0, {}},
                       fmt::format("{} steps are too few to fit {} parameters; expected at least "
                                   "{}",
                                   times.steps.size(), model_.parameters().size(), needed));
    }
    for (const TimedStep& step : times.steps) measured_.push_back(1e-6 * step.time_us);
  }

  FitResult fit() {
    const PredictSpans all = [&](std::span<const double> v) { return predict(v, 0, 1); };
    refuse_scale({times_.path, 0, {}}, measured_, all(model_.start()));
    const IntervalFit found = fit_intervals(model_, measured_, kinds(0, 1), all);
    const std::vector<double> predicted = all(found.values);
    FitResult out;
    out.profile = model_.profile(found.values);
    out.profile.warnings = found.warnings;
    warn_unidentified(found.confidence, model_, out.profile.warnings);
    out.profile.range = {};
    for (const TimedStep& step : times_.steps) out.profile.range.add(shape_of(step));
    FitScore score;
    score.part = "steps";
    score.parameters = found.confidence;
    score.points = static_cast<std::uint32_t>(measured_.size());
    const SpanErrors errors = span_errors(measured_, predicted);
    score.mape = score.form_mape = errors.mape;
    score.bias = errors.bias;
    hold_out(score);
    warn_biased(score, model_, out.profile.warnings);
    warn_unusable(score, 0, measured_.size(), out.profile.warnings);
    out.profile.scores.push_back(score);
    explain(predicted, out);
    return out;
  }

 private:
  static std::vector<StepParameter> varied(const StepTimes& times, const Scenario& scenario,
                                           const LogFitOptions& options) {
    const std::uint32_t graphs = StepModel(scenario, {}).graph_tokens();
    const auto replayed = static_cast<std::size_t>(
        std::count_if(times.steps.begin(), times.steps.end(),
                      [&](const TimedStep& step) { return replays(step, graphs); }));
    return varied_parameters(options.kernels.has_value(), scenario.engine.tensor_parallel,
                             {replayed, times.steps.size() - replayed});
  }

  /// Each step is its own span, and of one class.
  SpanKinds kinds(std::size_t first, std::size_t stride) const {
    SpanKinds out;
    StepClasses classes;
    for (std::size_t i = first; i < times_.steps.size(); i += stride) {
      out.kind.push_back(0);
      out.steps.push_back({{classes.of(shape_of(times_.steps[i])), 1}});
    }
    out.classes = classes.size();
    return out;
  }

  /// Of every `stride`-th step from `first`. Whether a step replays a graph is told, or follows
  /// from its size: the cost knows the latter only, so that the former is put right here.
  std::vector<double> predict(std::span<const double> values, std::size_t first,
                              std::size_t stride) {
    const auto cost = model_.cost(values);
    const std::uint32_t graphs = model_.graph_tokens();
    const double eager = 1e-6 * model_.profile(values).eager_overhead_us;
    std::vector<double> out;
    for (std::size_t i = first; i < times_.steps.size(); i += stride) {
      const TimedStep& step = times_.steps[i];
      double seconds = seconds_of(cost->step_time(shape_of(step)));
      const bool by_size = step.tokens() <= graphs;
      if (replays(step, graphs) != by_size) seconds += by_size ? eager : -eager;
      out.push_back(std::max(1e-9, seconds));
    }
    return out;
  }

  /// Fitted on every other step, scored on those between.
  void hold_out(FitScore& score) {
    const auto half = [&](std::size_t first) {
      std::vector<double> out;
      for (std::size_t i = first; i < measured_.size(); i += 2) out.push_back(measured_[i]);
      return out;
    };
    const std::vector<double> seen = half(0);
    const IntervalFit found = fit_intervals(
        model_, seen, kinds(0, 2), [&](std::span<const double> v) { return predict(v, 0, 2); });
    const SpanErrors errors = span_errors(half(1), predict(found.values, 1, 2));
    score.held_out = static_cast<std::uint32_t>(measured_.size() / 2);
    score.held_out_mape = errors.mape;
    score.held_out_p95 = errors.p95;
  }

  void explain(const std::vector<double>& predicted, FitResult& out) const {
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      const TimedStep& step = times_.steps[i];
      FitPoint point;
      point.part = "steps";
      point.what = fmt::format("{}:{}: {} decodes over {} tokens, {} prompts, {} tokens in all",
                               times_.path, step.line, step.shape.decodes,
                               step.shape.decode_context, step.prefills.size(), step.tokens());
      point.measured = step.time_us;
      point.predicted = 1e6 * predicted[i];
      const bool mixed = step.shape.decodes > 0 && !step.prefills.empty();
      if (mixed && std::abs(det::ln(predicted[i] / measured_[i])) > kFar) {
        point.why = "decodes beside prompts: how much they slow each other down is assumed";
      }
      out.worst.push_back(std::move(point));
    }
    std::stable_sort(out.worst.begin(), out.worst.end(), [](const FitPoint& a, const FitPoint& b) {
      return std::abs(det::ln(a.predicted / a.measured)) >
             std::abs(det::ln(b.predicted / b.measured));
    });
    if (out.worst.size() > kWorst) out.worst.resize(kWorst);
  }

  const StepTimes& times_;
  StepModel model_;
  std::vector<double> measured_;  ///< seconds
};

}  // namespace

FitResult fit_steps(const StepTimes& steps, const Scenario& scenario,
                    const LogFitOptions& options) {
  return StepFit(steps, scenario, options).fit();
}

}  // namespace spillway
