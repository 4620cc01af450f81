// A run as its engine's /metrics would have shown it, in OpenMetrics' text format with a time at
// each sample: `promtool tsdb create-blocks-from openmetrics` makes it the history of a Prometheus.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "reports/ops/metric_history.hpp"

namespace spillway {

struct ScrapeLabels {
  std::string model;     ///< model_name, by which engines' dashboards choose
  std::string scenario;  ///< instance; job is "spillway"
};

/// One sample at the end of each interval. `start_s`: seconds of Unix time of the run's beginning.
void write_openmetrics(const MetricHistories& histories, const ScrapeLabels& labels,
                       std::int64_t start_s, std::ostream& out);

}  // namespace spillway
