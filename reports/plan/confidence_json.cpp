#include "reports/plan/confidence_json.hpp"

namespace spillway {

using nlohmann::json;

json to_json(const PlanConfidence& c) {
  return {{"level", c.level},   {"method", c.method},           {"runs", c.runs},
          {"stages", c.stages}, {"stop_reason", c.stop_reason}, {"boundary", c.boundary}};
}

PlanConfidence confidence_from_json(const json& j) {
  PlanConfidence c;
  c.level = j.at("level");
  c.method = j.at("method");
  c.runs = j.at("runs");
  c.stages = j.at("stages").get<std::vector<std::uint32_t>>();
  c.stop_reason = j.at("stop_reason");
  c.boundary = j.at("boundary");
  return c;
}

json to_json(const TargetEstimate& t) {
  json out = {{"name", t.name},     {"bound", t.at_least ? "min" : "max"},
              {"target", t.target}, {"value", t.value},
              {"x", t.x},           {"limit", t.limit},
              {"share", t.share},   {"met", t.met},
              {"backed", t.backed}};
  if (!t.tenant.empty()) out["tenant"] = t.tenant;
  if (t.bound) out["confidence_bound"] = *t.bound;
  return out;
}

TargetEstimate target_from_json(const json& j) {
  TargetEstimate t;
  t.name = j.at("name");
  t.tenant = j.value("tenant", "");
  t.at_least = j.at("bound") == "min";
  t.target = j.at("target");
  t.value = j.at("value");
  t.x = j.at("x");
  t.limit = j.at("limit");
  t.share = j.at("share");
  if (j.contains("confidence_bound")) t.bound = j["confidence_bound"].get<double>();
  t.met = j.at("met");
  t.backed = j.at("backed");
  return t;
}

}  // namespace spillway
