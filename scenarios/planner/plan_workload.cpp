#include "scenarios/planner/plan_workload.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/fields/write.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/trace_stats_fields.hpp"
#include "sim/digest.hpp"
#include "traces/stats/trace_stats.hpp"

namespace spillway {

namespace {

constexpr std::size_t kMostIntervals = 360;  // two weeks by the hour, a day in four minutes
constexpr std::size_t kMostTenants = 20;

/// Neighbouring intervals joined until few enough are left.
void join_intervals(ArrivalStats& arrivals) {
  const std::vector<std::uint64_t>& all = arrivals.series;
  const std::size_t each = (all.size() + kMostIntervals - 1) / kMostIntervals;
  if (each < 2) return;
  std::vector<std::uint64_t> joined((all.size() + each - 1) / each, 0);
  for (std::size_t i = 0; i < all.size(); ++i) joined[i / each] += all[i];
  arrivals.series_interval_s *= static_cast<double>(each);
  arrivals.series = std::move(joined);
}

}  // namespace

std::optional<PlanWorkload> plan_workload(const Scenario& scenario, const Workload& workload) {
  if (workload.empty()) return std::nullopt;
  TraceStats stats = trace_stats(workload);
  stats.content_hash = hex16(workload.requests_hash());
  join_intervals(stats.arrivals);
  PlanWorkload out;
  out.tenants = stats.tenants.size();
  stats.tenants.resize(std::min(stats.tenants.size(), kMostTenants));
  // Names of tenants come from the trace: what is no UTF-8 in them is replaced.
  out.stats = to_document(stats).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const Bytes block = scenario.tier ? scenario.tier_block_bytes() : scenario.pool_block_bytes();
  out.kv_bytes_per_block =
      static_cast<double>(block.count()) / scenario.engine.block_tokens * workload.block_tokens();
  return out;
}

}  // namespace spillway
