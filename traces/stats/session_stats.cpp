#include "traces/stats/session_stats.hpp"

#include <algorithm>
#include <tuple>

#include "sim/quantile.hpp"

namespace spillway {

namespace {

/// `values` in units of 1 / `scale`.
Distribution distribution(std::vector<std::int64_t> values, double scale) {
  Distribution out;
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const std::int64_t value : values) sum += static_cast<double>(value);
  out.count = values.size();
  out.mean = sum / static_cast<double>(values.size()) / scale;
  out.p50 = quantile(values, 0.50) / scale;
  out.p90 = quantile(values, 0.90) / scale;
  out.p99 = quantile(values, 0.99) / scale;
  out.max = static_cast<double>(values.back()) / scale;
  return out;
}

}  // namespace

SessionStats session_stats(const Workload& workload) {
  const WorkloadColumns& c = workload.columns();
  SessionStats out;
  std::vector<std::int64_t> think;
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const RequestId request{i};
    out.with_predecessor += workload.after(request).empty() ? 0 : 1;
    if (workload.think_ns(request) >= 0) think.push_back(workload.think_ns(request));
  }
  out.think_s = distribution(std::move(think), 1e9);
  if (!workload.has_sessions()) return out;

  const std::uint32_t ids = *std::max_element(c.session.begin(), c.session.end());
  std::vector<std::int64_t> turns(std::size_t{ids} + 1, 0);
  std::vector<std::int64_t> last(turns.size(), 0);
  std::vector<std::int64_t> gaps;
  for (std::size_t i = 0; i < c.session.size(); ++i) {
    const std::uint32_t session = c.session[i];
    if (turns[session]++ > 0) gaps.push_back(c.arrival_ns[i] - last[session]);
    last[session] = c.arrival_ns[i];
  }
  std::erase(turns, 0);  // a cut trace may lack some
  out.sessions = turns.size();
  out.turns = distribution(std::move(turns), 1);
  out.gap_s = distribution(std::move(gaps), 1e9);
  return out;
}

std::vector<TenantStats> tenant_stats(const Workload& workload) {
  const WorkloadColumns& c = workload.columns();
  std::vector<TenantStats> out;
  for (const std::string& name : workload.source().tenants) out.push_back({name, 0, 0});
  for (std::size_t i = 0; i < c.tenant.size(); ++i) {
    if (c.tenant[i] >= out.size()) continue;  // without a name
    ++out[c.tenant[i]].requests;
    out[c.tenant[i]].input_tokens += c.input_tokens[i];
  }
  std::erase_if(out, [](const TenantStats& tenant) { return tenant.requests == 0; });
  std::sort(out.begin(), out.end(), [](const TenantStats& a, const TenantStats& b) {
    return std::tie(b.requests, a.name) < std::tie(a.requests, b.name);
  });
  return out;
}

}  // namespace spillway
