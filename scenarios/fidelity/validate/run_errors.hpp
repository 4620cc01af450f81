// How far a simulated run is from the measured one: by metric, by request, over time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario/measured/measured_run.hpp"

namespace spillway {

/// Precondition: the first token is known.
inline double ttft_ms(const MeasuredRequest& r) {
  return 1e3 * (r.first_token_s - r.arrival_s);
}
/// Precondition: both ends are known, of two tokens or more.
inline double tpot_ms(const MeasuredRequest& r) {
  return 1e3 * (r.last_token_s - r.first_token_s) / (r.output_tokens - 1);
}

/// One figure of a run, measured and simulated. What neither says is left out.
struct MetricError {
  std::string name;
  double measured = 0;
  double simulated = 0;

  double error_percent() const;  ///< signed; 0 where both are 0
};

/// Errors of one latency over the requests that completed in both.
struct RequestErrors {
  std::string latency;  ///< ttft, tpot, e2el
  std::uint32_t requests = 0;
  double p5_percent = 0;  ///< of the signed relative error
  double p50_percent = 0;
  double p95_percent = 0;
  double mean_absolute_ms = 0;
  double p95_absolute_ms = 0;
  std::optional<double> rank_correlation;  ///< Spearman's; absent where one side is constant
};

/// A request whose latency is far off, for people to look at.
struct WorstRequest {
  std::uint32_t number = 0;  ///< in order of arrival, from 0
  std::int64_t line = 0;     ///< of the measured file
  std::uint32_t input_tokens = 0;
  std::uint32_t output_tokens = 0;
  double measured_ttft_ms = 0;
  double simulated_ttft_ms = 0;
  double measured_e2el_ms = 0;
  double simulated_e2el_ms = 0;
};

/// One counter over the samples.
struct CounterError {
  std::string counter;  ///< running, waiting, kv_usage
  double peak = 0;      ///< measured
  double mean_absolute = 0;
  double percent_of_peak = 0;
  double bias_percent_of_peak = 0;  ///< mean signed error
};

struct CounterErrors {
  std::uint32_t samples = 0;
  /// By which the counters' clock differs from the requests', in seconds; added to their times.
  double clock_offset_s = 0;
  std::vector<CounterError> counters;
};

/// Of the metrics that both have, in the order of `names`; empty `names`: all, in the order of a
/// report.
std::vector<MetricError> metric_errors(const std::map<std::string, double>& measured,
                                       const std::map<std::string, double>& simulated,
                                       const std::vector<std::string>& names);

/// All metrics that can be compared, in the order of a report.
const std::vector<std::string>& comparable_metrics();

/// Precondition: both hold the same requests in the same order.
std::vector<RequestErrors> request_errors(const std::vector<MeasuredRequest>& measured,
                                          const std::vector<MeasuredRequest>& simulated);
/// The `count` largest absolute errors of the end-to-end latency.
std::vector<WorstRequest> worst_requests(const std::vector<MeasuredRequest>& measured,
                                         const std::vector<MeasuredRequest>& simulated,
                                         std::uint32_t count);

/// Counters and request log may come from two clocks. Of the offsets up to 2 s, the one (in steps
/// of 0.05 s) at which the number of requests in the system, by the log, is nearest to what the
/// counters say; 0 where either is missing. Nothing simulated is looked at.
double clock_offset(const MeasuredRun& measured);

/// Precondition: as many simulated as measured samples, each at the same instant.
CounterErrors counter_errors(const std::vector<MeasuredCounters>& measured,
                             const std::vector<MeasuredCounters>& simulated);

/// Spearman's rank correlation, ties sharing their mean rank.
std::optional<double> rank_correlation(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace spillway
