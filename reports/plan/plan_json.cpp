#include "reports/plan/plan_json.hpp"

#include "reports/run_json.hpp"

namespace spillway {

using nlohmann::json;

json to_json(const PlanResult& plan) {
  json points = json::array();
  for (const PlanPoint& point : plan.points) {
    points.push_back(
        {{"capacity", point.capacity},
         {"capacity_bytes", point.unbounded ? json("inf") : json(point.capacity_bytes)},
         {"feasible", point.feasible},
         {"digest", point.digest},
         {"run", to_json(point.run)}});
  }
  const auto at = [&](int index) {
    return index < 0 ? json(nullptr) : json(plan.points[static_cast<std::size_t>(index)].capacity);
  };
  json out = {
      {"tier", plan.tier},       {"points", points},        {"feasible", plan.recommended >= 0},
      {"verdict", plan.verdict}, {"binding", plan.binding}, {"headroom", plan.headroom},
      {"notes", plan.notes}};
  if (plan.recommended >= 0) out["recommended"] = at(plan.recommended);
  if (plan.knee >= 0) out["knee"] = at(plan.knee);
  return out;
}

PlanResult plan_from_json(const json& j) {
  PlanResult plan;
  plan.tier = j.at("tier");
  for (const json& p : j.at("points")) {
    PlanPoint point;
    point.capacity = p.at("capacity");
    point.unbounded = p.at("capacity_bytes").is_string();
    if (!point.unbounded) point.capacity_bytes = p.at("capacity_bytes");
    point.feasible = p.at("feasible");
    point.digest = p.at("digest");
    point.run = run_from_json(p.at("run"));
    const int index = static_cast<int>(plan.points.size());
    if (j.contains("recommended") && j["recommended"] == point.capacity) plan.recommended = index;
    if (j.contains("knee") && j["knee"] == point.capacity) plan.knee = index;
    plan.points.push_back(std::move(point));
  }
  plan.verdict = j.at("verdict");
  plan.binding = j.at("binding");
  plan.headroom = j.at("headroom");
  plan.notes = j.at("notes").get<std::vector<std::string>>();
  return plan;
}

}  // namespace spillway
