// What a trace is like: lengths, rates, reuse, sessions, and whether it stays that way.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/workload.hpp"
#include "traces/stats/arrival_stats.hpp"
#include "traces/stats/reuse_stats.hpp"
#include "traces/stats/session_stats.hpp"
#include "traces/stats/stationarity.hpp"

namespace spillway {

struct LengthStats {
  std::uint64_t total = 0;
  double mean = 0;
  double std = 0;  ///< the population's
  double p50 = 0;  ///< percentiles interpolate linearly (numpy's default)
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  std::vector<double> percentiles;  ///< 0, 1, 2, ... 100
};

struct TraceStats {
  std::uint64_t requests = 0;
  double span_s = 0;               ///< first to last arrival
  double requests_per_s = 0;       ///< requests / span; 0 for a span of 0
  double peak_requests_per_s = 0;  ///< in the busiest whole minute
  std::uint64_t distinct_arrival_times = 0;
  LengthStats input_tokens;
  LengthStats output_tokens;
  std::uint32_t block_tokens = 0;
  std::uint64_t references = 0;
  std::uint64_t unique_blocks = 0;
  std::uint64_t infinite_hits = 0;  ///< references to blocks seen in an earlier request
  double infinite_hit_ratio = 0;
  std::uint64_t sessions = 0;  ///< 0: the trace names none
  ArrivalStats arrivals;
  ReuseStats reuse;
  SessionStats session;
  std::vector<TenantStats> tenants;  ///< empty: the trace names none
  Stationarity stationarity;
  std::string content_hash;  ///< left to whoever writes a document
};

LengthStats length_stats(std::span<const std::uint32_t> tokens);
/// Requests/s over the span; 0 for a span of 0.
double mean_rate(const Workload& workload);
TraceStats trace_stats(const Workload& workload);

}  // namespace spillway
