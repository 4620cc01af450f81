#include "scenarios/fidelity/fit/interval_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

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

/// What residuals tell of the noise.
struct Noise {
  std::vector<double> of_kind;  ///< standard deviations
  double common = 1;            ///< FittedPoints::common

  /// Of each kind, as if none of its spans held a step of another.
  std::vector<double> alone(const SpanKinds& kinds) const {
    std::vector<double> out;
    for (std::size_t k = 0; k < of_kind.size(); ++k) {
      out.push_back(of_kind[k] * std::sqrt(1 + common * (kinds.overlap[k] - 1)));
    }
    return out;
  }
};

double residual(double measured, double predicted, double noise) {
  return std::clamp(det::ln(predicted / measured), -kOutlier, kOutlier) / noise;
}

/// Standard deviations by the median, which no outlier moves.
Noise noise_of(std::span<const double> measured, const SpanKinds& kinds,
               std::span<const double> predicted) {
  Noise out;
  for (std::size_t kind = 0; kind < kinds.overlap.size(); ++kind) {
    std::vector<double> off;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      if (kinds.kind[i] == kind) off.push_back(std::abs(det::ln(predicted[i] / measured[i])));
    }
    if (off.empty()) {
      out.of_kind.push_back(kFirstNoise);
      continue;
    }
    std::sort(off.begin(), off.end());
    const double half = static_cast<double>(off.size()) / 2 / kinds.kept[kind];
    const std::size_t middle = std::min(off.size() - 1, static_cast<std::size_t>(half));
    out.of_kind.push_back(std::max(1.48 * off[middle], kLeastNoise));
  }
  if (kinds.times.empty()) return out;
  std::vector<double> residuals;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    residuals.push_back(residual(measured[i], predicted[i], out.of_kind[kinds.kind[i]]));
  }
  out.common = common_noise(residuals, kinds.times);
  return out;
}

/// By how much the form is off on a span, as a logarithm, if it is off so much on each class.
double form_off(const SpanKinds& kinds, std::span<const double> form, std::size_t span) {
  if (form.empty()) return 0;
  double out = 0;
  for (const StepShare& s : kinds.steps[span]) out += s.share * form[s.of];
  return out;
}

std::vector<double> with_form(std::vector<double> predicted, const SpanKinds& kinds,
                              std::span<const double> form) {
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    predicted[i] *= det::exp(form_off(kinds, form, i));
  }
  return predicted;
}

/// To take a slope over, inwards.
double step_of(const Parameter& p, double value) {
  return (value < (p.low + p.high) / 2 ? 1e-4 : -1e-4) * (p.high - p.low);
}

/// The spans as a fit weighs them, with the parameters' slopes and then those of the form's errors.
struct WeighedSpans {
  FittedPoints points;
  std::vector<double> noise;  ///< of each span
  std::vector<double> off;    ///< ln(predicted / measured) without the form's errors, no outliers

  WeighedSpans(const FitForm& model, std::span<const double> near, std::span<const double> measured,
               const SpanKinds& kinds, Memo& memo) {
    const std::span<const double> values = near.first(model.parameters().size());
    const std::span<const double> form = near.subspan(values.size());
    const std::vector<double> here = memo.at(values);
    const std::vector<double> with = with_form(here, kinds, form);
    const Noise told = noise_of(measured, kinds, with);
    const std::vector<double> alone = told.alone(kinds);
    points.common = told.common;
    points.times = kinds.times;
    points.slopes.assign(measured.size(), std::vector<double>(values.size() + form.size(), 0));
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const std::size_t kind = kinds.kind[i];
      noise.push_back(told.of_kind[kind]);
      off.push_back(residual(measured[i], here[i], 1));
      points.residuals.push_back(residual(measured[i], with[i], noise[i]));
      points.weights.push_back(det::pow(noise[i] / alone[kind], 2));
      if (form.empty()) continue;
      for (const StepShare& s : kinds.steps[i]) {
        points.slopes[i][values.size() + s.of] = s.share / noise[i];
      }
    }
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double h = step_of(model.parameters()[k], values[k]);
      std::vector<double> moved(values.begin(), values.end());
      moved[k] += h;
      const std::vector<double>& there = memo.at(moved);
      for (std::size_t i = 0; i < measured.size(); ++i) {
        points.slopes[i][k] = det::ln(there[i] / here[i]) / h / noise[i];
      }
    }
  }

  std::vector<std::vector<double>> covariance_of(const FitForm& model) const {
    std::vector<double> priors = model.priors();
    priors.resize(points.slopes.front().size(), model.form_error());
    return covariance(points, priors);
  }
};

/// What the level of the parameters is off by, as a logarithm.
struct Level {
  double off = 0;
  double variance = 0;
  std::vector<double> slope;  ///< by parameter
};

Level level_of_spans(const WeighedSpans& spans, std::size_t parameters) {
  Level out;
  out.slope.assign(parameters, 0);
  double weights = 0;
  for (std::size_t i = 0; i < spans.off.size(); ++i) {
    const double weight = spans.points.weights[i] / (spans.noise[i] * spans.noise[i]);
    weights += weight;
    out.off += weight * spans.off[i];
    for (std::size_t k = 0; k < parameters; ++k) {
      out.slope[k] += weight * spans.points.slopes[i][k] * spans.noise[i];
    }
  }
  for (double& s : out.slope) s /= weights;
  out.off /= weights;
  out.variance = 1 / weights;
  return out;
}

Level level_of_whole(const FitForm& model, std::span<const double> values, const WholeSpan& whole) {
  Level out;
  const double here = whole.predict(values);
  out.off = det::ln(here / whole.measured_s);
  out.variance = kLeastNoise * kLeastNoise;
  for (std::size_t k = 0; k < values.size(); ++k) {
    std::vector<double> moved(values.begin(), values.end());
    moved[k] += step_of(model.parameters()[k], values[k]);
    out.slope.push_back(det::ln(whole.predict(moved) / here) / (moved[k] - values[k]));
  }
  return out;
}

/// The parameters of `near`, moved such that the level is off by nothing: it is the log's own. Each
/// moves as far as it is uncertain (a Kalman update with the level as the one thing observed); what
/// one on its bound cannot do is left to the others.
std::vector<double> levelled(const FitForm& model, const std::vector<double>& near,
                             std::span<const double> measured, const SpanKinds& kinds, Memo& memo,
                             const WholeSpan* whole) {
  constexpr double kLevel = 1e-4;
  const std::size_t count = model.parameters().size();
  const auto known = WeighedSpans(model, near, measured, kinds, memo).covariance_of(model);
  std::vector<double> out(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<bool> free(count, true);
  for (std::size_t pass = 0; pass <= count; ++pass) {
    std::vector<double> at = out;
    at.insert(at.end(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end());
    const Level level = whole != nullptr
                            ? level_of_whole(model, out, *whole)
                            : level_of_spans(WeighedSpans(model, at, measured, kinds, memo), count);
    if (std::abs(level.off) < kLevel) break;
    std::vector<double> gain(count, 0);
    double variance = level.variance;
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t j = 0; j < count && free[k]; ++j) {
        if (free[j]) gain[k] += known[k][j] * level.slope[j];
      }
      variance += level.slope[k] * gain[k];
    }
    for (std::size_t k = 0; k < count; ++k) {
      const Parameter& p = model.parameters()[k];
      const double moved = out[k] - gain[k] * level.off / variance;
      out[k] = std::clamp(moved, p.low, p.high);
      free[k] = free[k] && moved == out[k];
    }
  }
  return out;
}

/// The parameters, then the form's error in each class of steps.
std::vector<Parameter> with_classes(const FitForm& model, std::size_t classes) {
  constexpr double kFarOff = 4;  // standard deviations
  std::vector<Parameter> out = model.parameters();
  const double far = kFarOff * model.form_error();
  for (std::size_t c = 0; c < classes; ++c) out.push_back({"form", 0, -far, far});
  return out;
}

}  // namespace

std::uint32_t StepClasses::key_of(const StepShape& shape) {
  constexpr std::uint32_t kOctaves = 64;
  const auto octave = [](std::uint64_t n) { return static_cast<std::uint32_t>(std::bit_width(n)); };
  if (!shape.prefills.empty()) return octave(shape.prompt_tokens());
  const std::uint64_t held = shape.decode_context / std::max(1U, shape.decodes);
  return kOctaves * (1 + octave(shape.decodes)) + octave(held);
}

std::size_t StepClasses::of(const StepShape& shape) {
  const std::uint32_t key = key_of(shape);
  const auto known = std::find(keys_.begin(), keys_.end(), key);
  const auto at = static_cast<std::size_t>(known - keys_.begin());
  if (known == keys_.end()) keys_.push_back(key);
  return at;
}

SpanKinds SpanKinds::alike(std::size_t spans) {
  SpanKinds out;
  out.kind.assign(spans, 0);
  return out;
}

IntervalFit fit_intervals(const FitForm& model, std::span<const double> measured,
                          const SpanKinds& kinds, const PredictSpans& predict,
                          const std::vector<double>& from, const WholeSpan* whole) {
  const std::size_t count = model.parameters().size();
  std::vector<Parameter> parameters = with_classes(model, kinds.classes);
  Memo memo(predict, count + 3);
  const std::vector<double> targets(measured.size() + parameters.size(), 1.0);
  const auto fit = [&](const Noise& noise, const std::vector<double>& at_first) {
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      parameters[k].start = k < at_first.size() ? at_first[k] : 0;
    }
    // What is believed beforehand stands against spans that mostly say the same.
    const std::vector<double> alone = noise.alone(kinds);
    const double least = *std::min_element(alone.begin(), alone.end());
    return fit_bounded(parameters, targets, [&](std::span<const double> at, std::size_t i) {
      if (i < measured.size()) {
        const double off = det::ln(memo.at(at.first(count))[i] / measured[i]) +
                           form_off(kinds, at.subspan(count), i);
        return det::exp(off * least / alone[kinds.kind[i]]);
      }
      const std::size_t k = i - measured.size();
      const double moved = k < count ? (at[k] - model.parameters()[k].start) / model.priors()[k]
                                     : at[k] / model.form_error();
      return det::exp(least * moved);
    });
  };
  // From values nearby, or from what a fit says that takes all spans to be as noisy.
  std::vector<double> near = from;
  if (near.empty()) {
    near = fit({std::vector<double>(kinds.overlap.size(), kFirstNoise)}, model.start());
  }
  const auto noise_at = [&](const std::vector<double>& at) {
    const std::span<const double> all(at);
    const std::vector<double>& spans = memo.at(all.first(count));
    return noise_of(measured, kinds,
                    at.size() > count ? with_form(spans, kinds, all.subspan(count)) : spans);
  };
  const std::vector<double> found = fit(noise_at(near), near);
  const std::vector<double> values =
      kinds.classes > 0 ? levelled(model, found, measured, kinds, memo, whole) : found;
  return judge_intervals(model, values, found, measured, kinds, predict);
}

IntervalFit judge_intervals(const FitForm& model, std::span<const double> values,
                            const std::vector<double>& near, std::span<const double> measured,
                            const SpanKinds& kinds, const PredictSpans& predict) {
  Memo memo(predict, values.size() + 3);
  IntervalFit out;
  out.values.assign(values.begin(), values.end());
  out.near = near;
  const auto known = WeighedSpans(model, near, measured, kinds, memo).covariance_of(model);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Parameter& p = model.parameters()[k];
    const double value = values[k];
    const double deviation = std::sqrt(known[k][k]);
    const double width = kTwoSided95 * deviation;
    // An overhead of nothing is what an engine without one has; an efficiency bound is not.
    const bool on_bound = p.on_bound(value) && !(p.low == 0 && value < p.high / 2);
    // Around what the spans told, too: setting the level leaves the form's errors to the values.
    const double low = std::min(value, near[k]) - width;
    const double high = std::max(value, near[k]) + width;
    out.confidence[std::string(p.name)] = {value, std::max(p.low, low), std::min(p.high, high),
                                           on_bound,
                                           2 * deviation < model.priors()[k] && !p.on_bound(value)};
    if (!on_bound) continue;
    // Shares of a data sheet are low where times are long; scales and overheads are high there.
    const bool share = p.high <= 1;
    const bool slow = (value - p.low < p.high - value) == share;
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

void warn_unidentified(const std::map<std::string, FittedParameter>& parameters,
                       const StepModel& model, std::vector<std::string>& warnings) {
  std::vector<std::string> names;
  for (const auto& [name, p] : parameters) {
    if (!p.identified && !p.on_bound) names.push_back(name);  // a bound has its own warning
  }
  if (names.empty()) return;
  const bool none = names.size() == parameters.size();
  const std::string text = fmt::format(
      "the data do not identify {}{}: {} near what was assumed. {} would tell them apart. Loads "
      "like this one may be predicted well, others not",
      none ? "any parameter, " : "", fmt::join(names, ", "),
      names.size() == 1 ? "it stays" : "they stay",
      model.scales_kernels() ? "A log of other batch sizes, or step times,"
                             : "Kernel tables, a log of other batch sizes, or step times");
  warnings.insert(none ? warnings.begin() : warnings.end(), text);
}

void warn_biased(const FitScore& score, const StepModel& model,
                 std::vector<std::string>& warnings) {
  const double usual = 100 * model.form_error();
  if (std::abs(score.bias) <= usual) return;
  warnings.push_back(fmt::format(
      "{}: fitted times are {:.0f}% {} than measured ones, where forms usually err by {:.0f}%. {} "
      "would say why",
      score.part, std::abs(score.bias), score.bias > 0 ? "longer" : "shorter", usual,
      model.scales_kernels() ? "Kernel tables of this engine's version" : "Kernel tables"));
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
