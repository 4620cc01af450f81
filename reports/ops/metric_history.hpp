// What each metric of an engine was over a run, in equal intervals.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reports/ops/engine_metrics.hpp"
#include "reports/ops/figures.hpp"
#include "reports/ops/metric_log.hpp"

namespace spillway {

struct MetricHistory {
  const EngineMetric* metric = nullptr;
  /// By interval: a gauge's mean, what a counter grew by, how many a histogram observed.
  std::vector<double> values;
  // Of a histogram.
  std::vector<double> bounds;                ///< upper bounds in seconds
  std::vector<std::vector<double>> buckets;  ///< by bound, one more beyond the last; by interval
  std::vector<double> sums;                  ///< seconds observed, by interval
};

struct MetricHistories {
  double interval_s = 1;
  std::vector<MetricHistory> metrics;
};

/// All metrics of `figures.engine` and of its store that the run has a history of, in the order of
/// the table. `block_tokens`: of one block of the engine (a page of SGLang's).
MetricHistories metric_histories(const OpsFigures& figures, const MetricLog& log,
                                 std::int64_t block_tokens);

}  // namespace spillway
