#include "scenarios/fit/interval_fit.hpp"

#include <fmt/format.h>

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

/// A prior pulls for one standard deviation as one span does that is off by `noise`.
double prior_residual(const StepModel& model, std::span<const double> values, std::size_t k,
                      double noise) {
  return noise * (values[k] - model.parameters()[k].start) / model.priors()[k];
}

/// The standard deviation of residuals, by their median, which no outlier moves.
double noise_of(std::span<const double> measured, std::span<const double> predicted) {
  std::vector<double> off;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    off.push_back(std::abs(det::ln(predicted[i] / measured[i])));
  }
  const auto middle = off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2);
  std::nth_element(off.begin(), middle, off.end());
  return std::clamp(1.48 * *middle, kLeastNoise, kOutlier);
}

/// What is believed beforehand counts as often as the spans count an instant.
std::size_t prior_copies(double overlap) {
  return static_cast<std::size_t>(std::max(1.0, overlap + 0.5));
}

/// 95% intervals of what was fitted.
std::vector<double> half_widths(const StepModel& model, std::span<const double> values,
                                std::span<const double> measured, Memo& memo, double overlap) {
  const std::vector<double> here = memo.at(values);
  std::vector<std::vector<double>> slopes(measured.size(), std::vector<double>(values.size(), 0));
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Parameter& p = model.parameters()[k];
    const double h = (values[k] < (p.low + p.high) / 2 ? 1e-4 : -1e-4) * (p.high - p.low);
    std::vector<double> moved(values.begin(), values.end());
    moved[k] += h;
    const std::vector<double>& there = memo.at(moved);
    for (std::size_t i = 0; i < measured.size(); ++i) {
      slopes[i][k] = det::ln(there[i] / here[i]) / h;
    }
  }
  double square = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double e = std::min(kOutlier, std::abs(det::ln(here[i] / measured[i])));
    square += e * e;
  }
  const double points = static_cast<double>(measured.size()) / overlap;
  const double free = std::max(1.0, points - static_cast<double>(values.size()));
  const double noise = std::sqrt(std::max(1e-12, square / free));
  std::vector<double> out = deviations(slopes, noise, model.priors());
  for (double& width : out) width *= kTwoSided95;
  return out;
}

}  // namespace

IntervalFit fit_intervals(const StepModel& model, std::span<const double> measured,
                          const PredictSpans& predict, double overlap) {
  const std::vector<Parameter>& parameters = model.parameters();
  Memo memo(predict, parameters.size() + 3);
  std::vector<double> targets(measured.begin(), measured.end());
  targets.resize(measured.size() + prior_copies(overlap) * parameters.size(), 1.0);
  const auto fit = [&](double noise) {
    return fit_bounded(parameters, targets, [&](std::span<const double> at, std::size_t i) {
      if (i < measured.size()) return memo.at(at)[i];
      const std::size_t k = (i - measured.size()) % parameters.size();
      return det::exp(prior_residual(model, at, k, noise));
    });
  };
  const std::vector<double> first = fit(kFirstNoise);
  const std::vector<double> values = fit(noise_of(measured, memo.at(first)));
  return judge_intervals(model, values, measured, predict, overlap);
}

IntervalFit judge_intervals(const StepModel& model, std::span<const double> values,
                            std::span<const double> measured, const PredictSpans& predict,
                            double overlap) {
  Memo memo(predict, values.size() + 3);
  IntervalFit out;
  out.values.assign(values.begin(), values.end());
  const std::vector<double> widths = half_widths(model, values, measured, memo, overlap);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Parameter& p = model.parameters()[k];
    const double value = values[k];
    // An overhead of nothing is what an engine without one has; an efficiency bound is not.
    const bool on_bound = p.on_bound(value) && !(p.low == 0 && value < p.high / 2);
    out.confidence[std::string(p.name)] = {value, std::max(p.low, value - widths[k]),
                                           std::min(p.high, value + widths[k]), on_bound};
    if (!on_bound) continue;
    out.warnings.push_back(fmt::format(
        "{} stands on its bound ({:.4g}, of {:.4g} to {:.4g}): the data ask for more than is "
        "possible, so that something else in the scenario is not as it was measured",
        p.name, value, p.low, p.high));
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
