#include "scenarios/fidelity/fit/interval_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "models/calibration/confidence.hpp"
#include "sim/det_math.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr double kOutlier = 0.1;  // as in fit_bounded()
// Spans are taken to be off by so much before their own errors are known, and then by these.
constexpr double kFirstNoise = 0.03;
constexpr double kLeastNoise = 0.003;
constexpr double kTwoSided95 = 1.96;

/// Remembers the last few predictions: fit_bounded() asks point by point.
class Memo {
 public:
  Memo(const PredictSpans& predict, std::size_t keep) : predict_(predict), keep_(keep) {
    recent_.reserve(keep);
  }

  const std::vector<double>& at(std::span<const double> values) {
    for (const Entry& e : recent_) {
      if (std::equal(e.values.begin(), e.values.end(), values.begin())) return e.predicted;
    }
    Entry entry{{values.begin(), values.end()}, predict_(values)};
    if (recent_.size() < keep_) {
      recent_.push_back(std::move(entry));
      return recent_.back().predicted;
    }
    oldest_ = (oldest_ + 1) % keep_;
    return (recent_[oldest_] = std::move(entry)).predicted;
  }

 private:
  struct Entry {
    std::vector<double> values;
    std::vector<double> predicted;
  };
  const PredictSpans& predict_;
  std::size_t keep_;
  std::size_t oldest_ = 0;
  std::vector<Entry> recent_;
};

/// A prior pulls for one standard deviation as one span of full weight does that is off by `noise`.
double prior_residual(const StepModel& model, std::span<const double> values, std::size_t k,
                      double noise) {
  return noise * (values[k] - model.parameters()[k].start) / model.priors()[k];
}

/// The standard deviation of each kind's residuals, by their median, which no outlier moves.
std::vector<double> noise_of(std::span<const double> measured, const SpanKinds& kinds,
                             std::span<const double> predicted) {
  std::vector<double> out;
  for (std::size_t kind = 0; kind < kinds.overlap.size(); ++kind) {
    std::vector<double> off;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      if (kinds.kind[i] == kind) off.push_back(std::abs(det::ln(predicted[i] / measured[i])));
    }
    if (off.empty()) {
      out.push_back(kFirstNoise);
      continue;
    }
    const auto middle = off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2);
    std::nth_element(off.begin(), middle, off.end());
    out.push_back(std::clamp(1.48 * *middle, kLeastNoise, kOutlier));
  }
  return out;
}

/// 95% intervals of what was fitted.
std::vector<double> half_widths(const StepModel& model, std::span<const double> values,
                                std::span<const double> measured, const SpanKinds& kinds,
                                Memo& memo) {
  const std::vector<double> here = memo.at(values);
  const std::vector<double> noise = noise_of(measured, kinds, here);
  std::vector<std::vector<double>> slopes(measured.size(), std::vector<double>(values.size(), 0));
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Parameter& p = model.parameters()[k];
    const double h = (values[k] < (p.low + p.high) / 2 ? 1e-4 : -1e-4) * (p.high - p.low);
    std::vector<double> moved(values.begin(), values.end());
    moved[k] += h;
    const std::vector<double>& there = memo.at(moved);
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const std::size_t kind = kinds.kind[i];
      const double alone = noise[kind] * std::sqrt(kinds.overlap[kind]);
      slopes[i][k] = det::ln(there[i] / here[i]) / h / alone;
    }
  }
  std::vector<double> out = deviations(slopes, 1, model.priors());
  for (double& width : out) width *= kTwoSided95;
  return out;
}

}  // namespace

IntervalFit fit_intervals(const StepModel& model, std::span<const double> measured,
                          const SpanKinds& kinds, const PredictSpans& predict,
                          const std::vector<double>& from) {
  std::vector<Parameter> parameters = model.parameters();
  Memo memo(predict, parameters.size() + 3);
  const std::vector<double> targets(measured.size() + parameters.size(), 1.0);
  const auto fit = [&](const std::vector<double>& noise, const std::vector<double>& at_first) {
    for (std::size_t k = 0; k < parameters.size(); ++k) parameters[k].start = at_first[k];
    // What is believed beforehand stands against spans that mostly say the same.
    const auto best = std::min_element(noise.begin(), noise.end());
    const double least = *best;
    const double shared =
        least * std::sqrt(kinds.overlap[static_cast<std::size_t>(best - noise.begin())]);
    return fit_bounded(parameters, targets, [&](std::span<const double> at, std::size_t i) {
      if (i < measured.size()) {
        return det::pow(memo.at(at)[i] / measured[i], least / noise[kinds.kind[i]]);
      }
      return det::exp(prior_residual(model, at, i - measured.size(), shared));
    });
  };
  std::vector<double> near = from;
  if (near.empty()) {
    near = fit(std::vector<double>(kinds.overlap.size(), kFirstNoise), model.start());
  }
  const std::vector<double> values = fit(noise_of(measured, kinds, memo.at(near)), near);
  return judge_intervals(model, values, measured, kinds, predict);
}

IntervalFit judge_intervals(const StepModel& model, std::span<const double> values,
                            std::span<const double> measured, const SpanKinds& kinds,
                            const PredictSpans& predict) {
  Memo memo(predict, values.size() + 3);
  IntervalFit out;
  out.values.assign(values.begin(), values.end());
  const std::vector<double> widths = half_widths(model, values, measured, kinds, memo);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Parameter& p = model.parameters()[k];
    const double value = values[k];
    // An overhead of nothing is what an engine without one has; an efficiency bound is not.
    const bool on_bound = p.on_bound(value) && !(p.low == 0 && value < p.high / 2);
    out.confidence[std::string(p.name)] = {value, std::max(p.low, value - widths[k]),
                                           std::min(p.high, value + widths[k]), on_bound};
    if (!on_bound) continue;
    // Shares of a data sheet are low where times are long, overheads where they are short.
    const bool slow = (value - p.low < p.high - value) == (p.low > 0);
    out.warnings.push_back(fmt::format("{} stands on its bound ({:.4g}, of {:.4g} to {:.4g}): {}",
                                       p.name, value, p.low, p.high,
                                       slow ? "the data are slower than any GPU that was measured: "
                                              "are the unit, the GPU and the engine right?"
                                            : "the data ask for more than is possible, so that "
                                              "something else in the scenario is not as it was "
                                              "measured"));
  }
  return out;
}

void refuse_scale(const SourceRef& where, std::span<const double> measured,
                  std::span<const double> predicted) {
  constexpr double kWrongUnit = 50;  // no GPU is that far from its data sheet
  std::vector<double> ratios;
  for (std::size_t i = 0; i < measured.size(); ++i) ratios.push_back(measured[i] / predicted[i]);
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  if (*middle<kWrongUnit&& * middle * kWrongUnit> 1) return;
  throw InputError(
      Fault::kTrace, where,
      fmt::format("times are {:.3g} of what the GPU's data sheet allows (median): expected the "
                  "unit that the column names, found one that is probably off by 1000",
                  *middle));
}

void warn_unusable(const FitScore& score, std::size_t left_out, std::size_t spans,
                   std::vector<std::string>& warnings) {
  constexpr double kUseless = 20;  // %; good fits are off by 1% to 8%
  std::vector<std::string> reasons;
  if (score.held_out > 0 && score.held_out_mape > kUseless) {
    reasons.push_back(fmt::format("{} that the fit did not see are off by {:.0f}%", score.part,
                                  score.held_out_mape));
  }
  if (2 * left_out > spans) {
    reasons.push_back(fmt::format("{} of {} spans do not fit it", left_out, spans));
  }
  const auto& all = score.parameters;
  if (!all.empty() &&
      std::all_of(all.begin(), all.end(), [](const auto& p) { return p.second.on_bound; })) {
    reasons.push_back("every parameter stands on a bound");
  }
  if (reasons.empty()) return;
  warnings.insert(warnings.begin(),
                  fmt::format("do not size with this profile: {}; are the engine, the GPU, the "
                              "model and the units those of the data?",
                              fmt::join(reasons, ", ")));
}

SpanErrors span_errors(std::span<const double> measured, std::span<const double> predicted) {
  SpanErrors out;
  if (measured.empty()) return out;
  std::vector<double> off;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double e = 100 * (predicted[i] / measured[i] - 1);
    off.push_back(std::abs(e));
    out.bias += e;
    out.mape += std::abs(e);
  }
  const auto count = static_cast<double>(off.size());
  out.mape /= count;
  out.bias /= count;
  std::sort(off.begin(), off.end());
  out.p95 = off[std::min(off.size() - 1, static_cast<std::size_t>(0.95 * count))];
  return out;
}

}  // namespace spillway
