#include "traces/stats/trace_stats.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "sim/quantile.hpp"

namespace spillway {

namespace {}  // namespace

LengthStats length_stats(std::span<const std::uint32_t> values) {
  std::vector<std::uint32_t> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  LengthStats out;
  for (const std::uint32_t value : sorted) out.total += value;
  out.mean = static_cast<double>(out.total) / static_cast<double>(sorted.size());
  double squares = 0;
  for (const std::uint32_t value : sorted) squares += (value - out.mean) * (value - out.mean);
  out.std = std::sqrt(squares / static_cast<double>(sorted.size()));
  out.p50 = quantile(sorted, 0.50);
  out.p90 = quantile(sorted, 0.90);
  out.p95 = quantile(sorted, 0.95);
  out.p99 = quantile(sorted, 0.99);
  for (int q = 0; q <= 100; ++q) out.percentiles.push_back(quantile(sorted, q / 100.0));
  out.min = sorted.front();
  out.max = sorted.back();
  return out;
}

double mean_rate(const Workload& workload) {
  const auto arrivals = workload.columns().arrival_ns;
  const double span_s = static_cast<double>(arrivals.back() - arrivals.front()) / 1e9;
  return span_s > 0 ? workload.size() / span_s : 0;
}

TraceStats trace_stats(const Workload& workload) {
  const WorkloadColumns& c = workload.columns();
  TraceStats out;
  out.requests = workload.size();
  const std::int64_t first = c.arrival_ns.front();
  out.span_s = static_cast<double>(c.arrival_ns.back() - first) / 1e9;
  out.requests_per_s = mean_rate(workload);
  std::int64_t minute = -1;
  std::uint64_t in_minute = 0;
  std::uint64_t busiest = 0;
  for (std::size_t i = 0; i < c.arrival_ns.size(); ++i) {
    if (i == 0 || c.arrival_ns[i] != c.arrival_ns[i - 1]) ++out.distinct_arrival_times;
    const std::int64_t now = (c.arrival_ns[i] - first) / kMinuteNs;
    in_minute = now == minute ? in_minute + 1 : 1;
    minute = now;
    busiest = std::max(busiest, in_minute);
  }
  // Within a minute the whole trace is its busiest part.
  out.peak_requests_per_s =
      std::max(static_cast<double>(busiest) / 60, out.span_s < 60 ? out.requests_per_s : 0);
  out.input_tokens = length_stats(c.input_tokens);
  out.output_tokens = length_stats(c.output_tokens);

  out.block_tokens = workload.block_tokens();
  out.references = workload.references();
  out.unique_blocks = workload.unique_blocks();
  out.reuse = reuse_stats(workload);
  out.infinite_hits = out.reuse.infinite_hits;
  if (out.references > 0) {
    out.infinite_hit_ratio =
        static_cast<double>(out.infinite_hits) / static_cast<double>(out.references);
  }
  out.session = session_stats(workload);
  out.sessions = out.session.sessions;
  out.tenants = tenant_stats(workload);
  out.arrivals = arrival_stats(workload);
  out.stationarity = stationarity(workload);
  return out;
}

}  // namespace spillway
