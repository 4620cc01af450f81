#include "reports/plan/plan_json.hpp"

#include <fmt/format.h>

#include <utility>

#include "reports/document_fault.hpp"
#include "reports/plan/answer_json.hpp"
#include "reports/plan/confidence_json.hpp"
#include "reports/plan/cost_json.hpp"
#include "reports/plan/judgement_json.hpp"
#include "reports/plan/plan_workload.hpp"
#include "reports/plan/point_json.hpp"
#include "reports/plan/sensitivity_json.hpp"
#include "reports/plan/stress_json.hpp"

namespace spillway {

using nlohmann::json;

namespace {

/// Cells that have a name of their own in the answer: by capacity, for people, and by number.
constexpr std::pair<const char*, int PlanResult::*> kNamed[] = {
    {"recommended", &PlanResult::recommended},
    {"provisional", &PlanResult::provisional},
    {"knee", &PlanResult::knee},
    {"runner_up", &PlanResult::runner_up},
    {"feasible_min", &PlanResult::feasible_min},
    {"infeasible_max", &PlanResult::infeasible_max}};

void add_recommendation(const PlanResult& plan, json& out) {
  if (plan.recommended < 0) return;
  const PlanPoint& point = plan.points[static_cast<std::size_t>(plan.recommended)];
  out["recommended_size"] = plan.recommended_size;
  out["recommended_bytes"] = point.unbounded ? json("inf") : json(plan.recommended_bytes);
  out["recommended_total_bytes"] =
      point.unbounded ? json("inf") : json(plan.recommended_total_bytes);
  out["recommended_values"] = json::object();
  for (const auto& [key, value] : point.values) out["recommended_values"][key] = value;
}

/// Every index of a cell that the document holds, before anything is looked up by it: somebody may
/// have edited the file.
void check_indices(const json& j) {
  const json& points = j.at("points");
  const std::size_t cells = points.size();
  const auto check = [&](const json& value, const std::string& field) {
    check_index(value, "results." + field, cells, "cells (points)");
  };
  for (const auto& [name, member] : kNamed) {
    const std::string key = std::string(name) + "_index";
    if (j.contains(key)) check(j.at(key), key);
  }
  for (std::size_t i = 0; i < cells; ++i) {
    if (!points.at(i).contains("difference")) continue;
    check(points.at(i).at("difference").at("to_index"),
          fmt::format("points.{}.difference.to_index", i));
  }
  const auto check_rows = [&](const char* part, const char* list) {
    if (!j.contains(part)) return;
    const json& rows = j.at(part).at(list);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      check(rows.at(i).at("point"), fmt::format("{}.{}.{}.point", part, list, i));
    }
  };
  check_rows("cost", "cells");
  check_rows("regret", "rows");
}

}  // namespace

json to_json(const PlanResult& plan) {
  json points = json::array();
  for (const PlanPoint& point : plan.points) points.push_back(to_json(point));
  json out = {{"tier", plan.tier},
              {"objective", plan.objective},
              {"points", points},
              {"feasible", plan.recommended >= 0},
              {"undecided", plan.undecided},
              {"verdict", plan.verdict},
              {"binding", plan.binding},
              {"headroom", plan.headroom},
              {"notes", plan.notes}};
  for (const auto& [name, member] : kNamed) {
    const int index = plan.*member;
    if (index < 0) continue;
    out[name] = plan.points[static_cast<std::size_t>(index)].capacity;
    out[std::string(name) + "_index"] = index;
  }
  add_recommendation(plan, out);
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) out[key] = value;
  };
  text("would_decide", plan.would_decide);
  text("runner_up_reason", plan.runner_up_reason);
  text("first_breach", plan.first_breach);
  if (plan.confidence) {
    out["confidence"] = to_json(*plan.confidence);
    // How it was computed, not what came out: no part of the digest.
    out["sim"] = {{"runs_reused", plan.confidence->reused}};
  }
  add_answer(plan, out);
  add_judgement(plan, out);
  if (plan.cost) out["cost"] = to_json(*plan.cost);
  if (plan.regret) out["regret"] = to_json(*plan.regret);
  if (plan.sensitivity) out["sensitivity"] = to_json(*plan.sensitivity);
  if (plan.stress) out["stress"] = to_json(*plan.stress);
  if (plan.workload) out["workload"] = to_json(*plan.workload);
  return out;
}

PlanResult plan_from_json(const json& j) {
  PlanResult plan;
  check_indices(j);
  plan.tier = j.at("tier");
  plan.objective = j.at("objective");
  for (const json& point : j.at("points")) plan.points.push_back(point_from_json(point));
  for (const auto& [name, member] : kNamed) {
    const auto index = j.find(std::string(name) + "_index");
    if (index == j.end()) continue;
    plan.*member = *index;
  }
  if (plan.recommended >= 0) {
    plan.recommended_size = j.at("recommended_size");
    const json& bytes = j.at("recommended_bytes");
    if (bytes.is_number()) plan.recommended_bytes = bytes;
    const json& total = j.at("recommended_total_bytes");
    if (total.is_number()) plan.recommended_total_bytes = total;
  }
  plan.undecided = j.at("undecided");
  plan.would_decide = j.value("would_decide", "");
  plan.runner_up_reason = j.value("runner_up_reason", "");
  plan.first_breach = j.value("first_breach", "");
  plan.verdict = j.at("verdict");
  plan.binding = j.at("binding");
  plan.headroom = j.at("headroom");
  plan.notes = j.at("notes").get<std::vector<std::string>>();
  if (j.contains("confidence")) {
    plan.confidence = confidence_from_json(j.at("confidence"));
    plan.confidence->reused = j.at("sim").at("runs_reused");
  }
  read_answer(j, plan);
  read_judgement(j, plan);
  if (j.contains("cost")) plan.cost = cost_from_json(j.at("cost"));
  if (j.contains("regret")) plan.regret = regret_from_json(j.at("regret"));
  if (j.contains("sensitivity")) plan.sensitivity = sensitivity_from_json(j.at("sensitivity"));
  if (j.contains("stress")) plan.stress = stress_from_json(j.at("stress"));
  if (j.contains("workload")) plan.workload = workload_from_json(j.at("workload"));
  return plan;
}

}  // namespace spillway
