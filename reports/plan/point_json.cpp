#include "reports/plan/point_json.hpp"

#include <algorithm>
#include <array>

#include "reports/plan/confidence_json.hpp"
#include "reports/run_json.hpp"

namespace spillway {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 5> kVerdicts = {"met", "missed", "looks-met", "looks-missed",
                                                       "excluded"};

CellVerdict verdict_of(const std::string& name) {
  const auto at = std::find(kVerdicts.begin(), kVerdicts.end(), name);
  if (at == kVerdicts.end()) {
    throw json::other_error::create(501, "unknown verdict \"" + name + "\"", nullptr);
  }
  return static_cast<CellVerdict>(at - kVerdicts.begin());
}

}  // namespace

std::string_view name_of(CellVerdict verdict) {
  return kVerdicts[static_cast<std::size_t>(verdict)];
}

json to_json(const PlanPoint& point) {
  json out = {{"name", point.name},
              {"capacity", point.capacity},
              {"capacity_bytes", point.unbounded ? json("inf") : json(point.capacity_bytes)},
              {"feasible", point.feasible},
              {"verdict", name_of(point.verdict)},
              {"replications", point.replications},
              {"cut", point.cut},
              {"attainment", point.attainment},
              {"attainment_low", point.attainment_low},
              {"cold_limited", point.cold_limited},
              {"digest", point.digest},
              {"run", to_json(point.run)}};
  out["targets"] = json::array();
  for (const TargetEstimate& target : point.targets) out["targets"].push_back(to_json(target));
  if (!point.reason.empty()) out["reason"] = point.reason;
  for (const auto& [key, value] : point.values) {
    out["values"].push_back({{"key", key}, {"value", value}});
  }
  return out;
}

PlanPoint point_from_json(const json& j) {
  PlanPoint point;
  point.name = j.at("name");
  point.capacity = j.at("capacity");
  point.unbounded = j.at("capacity_bytes").is_string();
  if (!point.unbounded) point.capacity_bytes = j.at("capacity_bytes");
  point.feasible = j.at("feasible");
  point.verdict = verdict_of(j.at("verdict"));
  point.reason = j.value("reason", "");
  point.replications = j.at("replications");
  point.cut = j.at("cut");
  point.attainment = j.at("attainment");
  point.attainment_low = j.at("attainment_low");
  point.cold_limited = j.at("cold_limited");
  point.digest = j.at("digest");
  point.run = run_from_json(j.at("run"));
  for (const json& target : j.at("targets")) point.targets.push_back(target_from_json(target));
  if (j.contains("values")) {
    for (const json& value : j["values"]) {
      point.values.emplace_back(value.at("key"), value.at("value"));
    }
  }
  return point;
}

}  // namespace spillway
