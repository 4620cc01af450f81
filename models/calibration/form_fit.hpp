// A form's parameters fitted to rows of a kernel table, with what the rows do not tell left alone.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/calibration/fit_errors.hpp"
#include "models/calibration/least_squares.hpp"
#include "models/calibration/ratio_fit.hpp"
#include "models/calibration/shape_hash.hpp"
#include "models/compute/compute_profile.hpp"

namespace spillway {

/// A parameter, the member it ends in, and what it means that the data asked for more.
template <class Kernels>
struct FormParameter {
  Parameter parameter;
  double Kernels::*member;
  const char* at_low;
  const char* at_high;
};

/// So many of the rows that parameters are known by them, in even distances.
template <class Row>
std::vector<const Row*> spread(const std::vector<Row>& rows) {
  // Parameters of four numbers do not become better known by more rows than this.
  constexpr std::size_t kMostFitted = 4000;
  const std::size_t every = (rows.size() + kMostFitted - 1) / kMostFitted;
  std::vector<const Row*> out;
  for (const Row& row : rows) {
    if (every <= 1 || shape_hash(row) % every == 0) out.push_back(&row);
  }
  return out;
}

template <class Kernels>
using FormParameters = std::vector<const FormParameter<Kernels>*>;

/// One fit of some of a form's parameters.
struct FormFit {
  std::vector<Parameter> bounded;
  std::vector<double> at;
  std::vector<ParameterInterval> intervals;  ///< empty: not asked for
  std::vector<ParameterInterval> inside;     ///< the same, with none held on its bound
};

/// A parameter on its bound is held there, which hides how little the rows may tell of it: just
/// within, it is not.
inline std::vector<double> off_bounds(const std::vector<Parameter>& parameters,
                                      std::vector<double> at) {
  constexpr double kWithin = 2e-3;  // of the range; Parameter::on_bound() ends at half of it
  for (std::size_t k = 0; k < at.size(); ++k) {
    const Parameter& p = parameters[k];
    const double margin = kWithin * (p.high - p.low);
    at[k] = std::clamp(at[k], p.low + margin, p.high - margin);
  }
  return at;
}

/// Takes out of `free` the parameter that the rows tell least, if they do not tell it at all: it
/// could be almost anywhere between its bounds.
template <class Kernels>
const FormParameter<Kernels>* take_untold(FormParameters<Kernels>& free, const FormFit& fit) {
  constexpr double kMostOfRange = 0.5;
  std::size_t widest = free.size();
  double most = kMostOfRange;
  for (std::size_t k = 0; k < fit.inside.size(); ++k) {
    const Parameter& p = fit.bounded[k];
    const double width = fit.inside[k].high - fit.inside[k].low;
    // No width just within a bound: no row depends on it. (Rows without noise have none either.)
    const double share = width <= 0 && p.on_bound(fit.at[k]) ? 1 : width / (p.high - p.low);
    if (share <= most) continue;
    most = share;
    widest = k;
  }
  if (widest == free.size()) return nullptr;
  const FormParameter<Kernels>* out = free[widest];
  free.erase(free.begin() + static_cast<std::ptrdiff_t>(widest));
  return out;
}

template <class Kernels, class Row, class Us>
FormFit fit_free(const FormParameters<Kernels>& free, const Kernels& kernels,
                 const std::vector<const Row*>& seen, const Kernels* start, bool intervals,
                 Us&& us) {
  FormFit out;
  for (const FormParameter<Kernels>* p : free) {
    out.bounded.push_back(p->parameter);
    if (start != nullptr) out.bounded.back().start = start->*p->member;
  }
  std::vector<double> measured;
  for (const Row* row : seen) measured.push_back(row->us);
  Kernels trial = kernels;
  const auto predict = [&](std::span<const double> p, std::size_t i) {
    for (std::size_t k = 0; k < p.size(); ++k) trial.*(free[k]->member) = p[k];
    return us(trial, *seen[i]);
  };
  out.at = fit_bounded(out.bounded, measured, predict);
  if (!intervals) return out;
  out.intervals = parameter_intervals(out.bounded, out.at, measured, predict);
  out.inside = parameter_intervals(out.bounded, off_bounds(out.bounded, out.at), measured, predict);
  return out;
}

/// Whether an earlier fit left that parameter at its usual value.
inline bool was_untold(const FitScore* before, std::string_view name, double usual) {
  if (before == nullptr) return false;
  const auto at = before->parameters.find(std::string(name));
  return at != before->parameters.end() && !at->second.on_bound &&
         at->second.low == at->second.high && at->second.value == usual;
}

/// Fits `parameters` of `kernels` to `rows`; `us(kernels, row)` is what they predict. What the rows
/// do not tell stays as it is in `kernels`, the GPU's published coefficients; so does
/// what an earlier fit, of score `before`, left there.
template <class Kernels, class Row, class Us>
void fit_part(Kernels& kernels, std::span<const FormParameter<Kernels>> parameters,
              const std::vector<Row>& rows, const Kernels* start, const FitScore* before,
              FitScore* score, std::vector<std::string>& warnings, Us&& us) {
  const std::vector<const Row*> seen = spread(rows);
  FormParameters<Kernels> free;
  for (const FormParameter<Kernels>& p : parameters) {
    if (!was_untold(before, p.parameter.name, kernels.*p.member)) free.push_back(&p);
  }
  FormFit fit;
  for (;;) {
    if (free.empty()) return;
    fit = fit_free(free, kernels, seen, start, score != nullptr, us);
    const FormParameter<Kernels>* untold = take_untold(free, fit);
    if (untold == nullptr) break;
    const double kept = kernels.*untold->member;
    score->parameters[std::string(untold->parameter.name)] = {kept, kept, kept, false};
    warnings.push_back(fmt::format(
        "{}: the rows do not tell {} (its interval spans most of {:.4g} to {:.4g}); it stays at "
        "{:.4g}, which is usual",
        score->part, untold->parameter.name, untold->parameter.low, untold->parameter.high, kept));
  }
  for (std::size_t k = 0; k < free.size(); ++k) kernels.*(free[k]->member) = rounded(fit.at[k]);
  if (score == nullptr) return;
  for (std::size_t k = 0; k < free.size(); ++k) {
    const Parameter& p = fit.bounded[k];
    const double value = fit.at[k];
    const bool on_bound = p.on_bound(value);
    score->parameters[std::string(p.name)] = {rounded(value), rounded(fit.intervals[k].low),
                                              rounded(fit.intervals[k].high), on_bound};
    if (!on_bound) continue;
    const bool low = value - p.low < p.high - value;
    warnings.push_back(fmt::format("{}: {} ends on the bound {:.4g} of what is possible: {}",
                                   score->part, p.name, low ? p.low : p.high,
                                   low ? free[k]->at_low : free[k]->at_high));
  }
}

}  // namespace spillway
