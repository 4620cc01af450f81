#include "scenarios/planner/plan_workload.hpp"

#include <nlohmann/json.hpp>

#include "scenarios/scenario/trace_stats_document.hpp"
#include "sim/digest.hpp"
#include "traces/stats/trace_stats.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr std::size_t kMostIntervals = 360;  // two weeks by the hour, a day in four minutes
constexpr std::size_t kMostTenants = 20;

/// Neighbouring intervals joined until few enough are left.
void join_intervals(json& arrivals) {
  const json& all = arrivals.at("requests_per_interval");
  const std::size_t each = (all.size() + kMostIntervals - 1) / kMostIntervals;
  if (each < 2) return;
  json joined = json::array();
  for (std::size_t i = 0; i < all.size(); i += each) {
    std::uint64_t sum = 0;
    for (std::size_t j = i; j < std::min(i + each, all.size()); ++j) {
      sum += all[j].get<std::uint64_t>();
    }
    joined.push_back(sum);
  }
  arrivals["interval_s"] = arrivals.at("interval_s").get<double>() * static_cast<double>(each);
  arrivals["requests_per_interval"] = std::move(joined);
}

}  // namespace

std::optional<PlanWorkload> plan_workload(const Scenario& scenario, const Workload& workload) {
  if (workload.empty()) return std::nullopt;
  json stats = to_json(trace_stats(workload));
  stats["content_hash"] = hex16(workload.requests_hash());
  join_intervals(stats["arrivals"]);
  PlanWorkload out;
  if (stats.contains("tenants")) {
    json& tenants = stats["tenants"];
    out.tenants = tenants.size();
    while (tenants.size() > kMostTenants) tenants.erase(tenants.size() - 1);
  }
  // Names of tenants come from the trace: what is no UTF-8 in them is replaced.
  out.stats = stats.dump(-1, ' ', false, json::error_handler_t::replace);
  const Bytes block = scenario.tier ? scenario.tier_block_bytes() : scenario.pool_block_bytes();
  out.kv_bytes_per_block =
      static_cast<double>(block.count()) / scenario.engine.block_tokens * workload.block_tokens();
  return out;
}

}  // namespace spillway
