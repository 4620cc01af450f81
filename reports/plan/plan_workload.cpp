#include "reports/plan/plan_workload.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace spillway {

using nlohmann::json;

std::optional<ChartSeries> reuse_over_bytes(const PlanResult& plan) {
  if (!plan.workload) return std::nullopt;
  const json stats = json::parse(plan.workload->stats);
  if (!stats.contains("reuse")) return std::nullopt;
  ChartSeries out{"LRU in one pass over the trace", {}, {}};
  for (const json& point : stats.at("reuse").at("lru_curve")) {
    out.x.push_back(point.at("capacity_blocks").get<double>() * plan.workload->kv_bytes_per_block);
    out.y.push_back(100 * point.at("hit_ratio").get<double>());
  }
  if (out.x.empty()) return std::nullopt;
  return out;
}

double cache_bytes(const PlanPoint& point) {
  double out = 0;
  for (const TierResult& tier : point.run.tiers) {
    if (tier.unbounded) return std::numeric_limits<double>::infinity();
    out = std::max(out, static_cast<double>(tier.capacity_bytes));
  }
  return out;
}

}  // namespace spillway
