#include "traces/trace_stats.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace spillway {

namespace {

constexpr std::int64_t kMinuteNs = 60'000'000'000;

LengthStats length_stats(std::span<const std::uint32_t> values) {
  std::vector<std::uint32_t> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  LengthStats out;
  for (const std::uint32_t value : sorted) out.total += value;
  out.mean = static_cast<double>(out.total) / static_cast<double>(sorted.size());
  const auto at = [&](double q) {
    const double position = q * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(position);
    const std::size_t high = std::min(low + 1, sorted.size() - 1);
    const double t = position - static_cast<double>(low);
    return sorted[low] + t * (static_cast<double>(sorted[high]) - sorted[low]);
  };
  out.p50 = at(0.50);
  out.p90 = at(0.90);
  out.p99 = at(0.99);
  out.min = sorted.front();
  out.max = sorted.back();
  return out;
}

}  // namespace

TraceStats trace_stats(const Workload& workload) {
  const WorkloadColumns& c = workload.columns();
  TraceStats out;
  out.requests = workload.size();
  const std::int64_t first = c.arrival_ns.front();
  out.span_s = static_cast<double>(c.arrival_ns.back() - first) / 1e9;
  if (out.span_s > 0) out.requests_per_s = static_cast<double>(out.requests) / out.span_s;
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
  out.peak_requests_per_s = static_cast<double>(busiest) / 60;
  out.input_tokens = length_stats(c.input_tokens);
  out.output_tokens = length_stats(c.output_tokens);

  out.block_tokens = workload.block_tokens();
  out.references = workload.references();
  out.unique_blocks = workload.unique_blocks();
  // A block repeated within a request is no hit of a cache that held it before the request.
  std::vector<std::uint32_t> uses(workload.unique_blocks(), 0);
  std::vector<std::uint32_t> first_request(workload.unique_blocks(), 0);
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    for (const TraceBlockId id : workload.chain(RequestId{i})) {
      if (uses[raw(id)]++ == 0) first_request[raw(id)] = i;
      out.infinite_hits += first_request[raw(id)] == i ? 0 : 1;
    }
  }
  out.single_use_blocks =
      static_cast<std::uint64_t>(std::count(uses.begin(), uses.end(), std::uint32_t{1}));
  if (out.references > 0) {
    out.infinite_hit_ratio =
        static_cast<double>(out.infinite_hits) / static_cast<double>(out.references);
  }
  if (workload.has_sessions()) {
    out.sessions = *std::max_element(c.session.begin(), c.session.end()) + std::uint64_t{1};
  }
  return out;
}

}  // namespace spillway
