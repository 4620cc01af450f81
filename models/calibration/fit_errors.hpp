// How far predictions are off, summarised; and which values a fit does not see.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <vector>

#include "models/calibration/profile.hpp"
#include "sim/quantile.hpp"

namespace spillway {

struct ErrorSummary {
  double mean = 0;
  double median = 0;
  double p95 = 0;
  double max = 0;
};

/// In percent of `measured`, which is positive.
inline double percent_off(double predicted, double measured) {
  return 100 * std::abs(predicted - measured) / measured;
}

/// 0 of no values.
inline double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

inline ErrorSummary summarise(std::vector<double> errors) {
  if (errors.empty()) return {};
  double sum = 0;
  for (const double error : errors) sum += error;
  std::sort(errors.begin(), errors.end());
  return {sum / static_cast<double>(errors.size()), quantile(errors, 0.5), quantile(errors, 0.95),
          errors.back()};
}

/// Of the distinct values of an argument, those that a fit does not see: every third, neither the
/// first nor the last.
template <class T>
std::set<T> held_out_of(const std::set<T>& distinct) {
  constexpr std::size_t kEvery = 3;
  const std::vector<T> ordered(distinct.begin(), distinct.end());
  std::set<T> out;
  for (std::size_t i = 1; i + 1 < ordered.size(); i += kEvery) out.insert(ordered[i]);
  return out;
}

/// Over the cells that were fitted.
inline void score_seen(FitRecord& record, const std::vector<double>& errors) {
  const ErrorSummary seen = summarise(errors);
  record.mape = seen.mean;
  record.max_err = seen.max;
}

/// Over those held out, which count towards the worst of all.
inline void score_unseen(FitRecord& record, const std::vector<double>& errors) {
  const ErrorSummary unseen = summarise(errors);
  record.held_out = static_cast<std::uint32_t>(errors.size());
  record.held_out_mape = unseen.mean;
  record.held_out_median = unseen.median;
  record.held_out_p95 = unseen.p95;
  record.max_err = std::max(record.max_err, unseen.max);
}

}  // namespace spillway
