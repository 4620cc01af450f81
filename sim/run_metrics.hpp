// Figures of a run that can be named: what an SLO may bound, and what a comparison tests.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/result.hpp"

namespace spillway {

/// Rejected requests, of all that were measured.
inline constexpr std::string_view kRejectedShare = "rejected_share";

struct RunMetric {
  std::string_view name;  ///< the key of a run's results, but for cached_share
  bool lower_is_better = true;
  double (*value)(const RunResult&) = nullptr;
};

/// What an SLO may name: latencies and the rejected share have a maximum, rates a minimum.
std::span<const RunMetric> slo_metrics();
/// These, and cached_share (of prompt tokens, HBM and below), preemptions and rejected.
std::span<const RunMetric> run_metrics();

/// The metric called `name`, or null.
const RunMetric* find_metric(std::span<const RunMetric> metrics, std::string_view name);
/// In the order of the table.
std::vector<std::string_view> metric_names(std::span<const RunMetric> metrics);

}  // namespace spillway
