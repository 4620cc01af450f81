#include "reports/plan/point_json.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "reports/document_fault.hpp"
#include "reports/plan/confidence_json.hpp"
#include "reports/run/run_json.hpp"

namespace spillway {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 5> kVerdicts = {"met", "missed", "looks-met", "looks-missed",
                                                       "excluded"};

CellVerdict verdict_of(const std::string& name) {
  const auto at = std::find(kVerdicts.begin(), kVerdicts.end(), name);
  if (at == kVerdicts.end()) {
    document_fault("unknown verdict \"" + name + "\"");
  }
  return static_cast<CellVerdict>(at - kVerdicts.begin());
}

// One table for both directions: what is written is what is read back.
constexpr std::pair<const char*, std::string PlanPoint::*> kTexts[] = {
    {"name", &PlanPoint::name}, {"capacity", &PlanPoint::capacity}, {"digest", &PlanPoint::digest}};
constexpr std::pair<const char*, bool PlanPoint::*> kFlags[] = {
    {"feasible", &PlanPoint::feasible},
    {"cold_limited", &PlanPoint::cold_limited},
    {"attainment_bound", &PlanPoint::attainment_at_most}};
constexpr std::pair<const char*, std::uint32_t PlanPoint::*> kCounts[] = {
    {"replications", &PlanPoint::replications}, {"cut", &PlanPoint::cut}};
constexpr std::pair<const char*, double PlanPoint::*> kShares[] = {
    {"attainment", &PlanPoint::attainment}, {"attainment_low", &PlanPoint::attainment_low}};

/// Calls `visit` with each of those tables.
template <class Visit>
void for_each_table(Visit visit) {
  visit(kTexts);
  visit(kFlags);
  visit(kCounts);
  visit(kShares);
}

}  // namespace

std::string_view name_of(CellVerdict verdict) {
  return kVerdicts[static_cast<std::size_t>(verdict)];
}

json to_json(const PlanPoint& point) {
  json out = {{"capacity_bytes", point.unbounded ? json("inf") : json(point.capacity_bytes)},
              {"verdict", name_of(point.verdict)},
              {"run", to_json(point.run)}};
  for_each_table([&](const auto& table) {
    for (const auto& [key, member] : table) out[key] = point.*member;
  });
  out["targets"] = json::array();
  for (const TargetEstimate& target : point.targets) out["targets"].push_back(to_json(target));
  if (!point.reason.empty()) out["reason"] = point.reason;
  if (!point.engine_lacks.empty()) out["engine_lacks"] = point.engine_lacks;
  if (point.standstill.replicates > 0) {
    out["standstill"] = {{"replicates", point.standstill.replicates},
                         {"of", point.standstill.of},
                         {"decides", point.standstill.decides},
                         {"why", point.standstill.why}};
  }
  if (const auto& d = point.difference) {
    out["difference"] = {
        {"to_index", d->to}, {"mean", d->mean}, {"noise", d->noise}, {"replicates", d->replicates}};
  }
  for (const auto& [key, value] : point.values) {
    out["values"].push_back({{"key", key}, {"value", value}});
  }
  return out;
}

PlanPoint point_from_json(const json& j) {
  PlanPoint point;
  for_each_table([&](const auto& table) {
    for (const auto& [key, member] : table) j.at(key).get_to(point.*member);
  });
  const json& bytes = j.at("capacity_bytes");
  point.unbounded = bytes.is_string();
  if (!point.unbounded) point.capacity_bytes = bytes;
  point.verdict = verdict_of(j.at("verdict"));
  point.reason = j.value("reason", "");
  point.engine_lacks = j.value("engine_lacks", "");
  if (j.contains("standstill")) {
    const json& s = j["standstill"];
    point.standstill = {s.at("replicates"), s.at("of"), s.at("decides"), s.at("why")};
  }
  if (j.contains("difference")) {
    const json& d = j["difference"];
    point.difference =
        CellDifference{d.at("to_index"), d.at("mean"), d.at("noise"), d.at("replicates")};
  }
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
