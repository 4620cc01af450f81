#include "reports/plan/answer_json.hpp"

#include "reports/document_fault.hpp"

namespace spillway {

using nlohmann::json;

namespace {

/// The value of an enumeration by its name; the last value ends the search.
template <class Enum>
Enum named(const json& name, Enum last) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (name_of(static_cast<Enum>(i)) == name.get<std::string>()) return static_cast<Enum>(i);
  }
  document_fault("unknown name \"" + name.get<std::string>() + "\"");
}

json to_json(const std::vector<TriedTarget>& targets) {
  json out = json::array();
  for (const TriedTarget& t : targets) {
    json& one = out.emplace_back(
        json{{"name", t.name}, {"value", t.value}, {"limit", t.limit}, {"met", t.met}});
    if (t.at_least) one["at_least"] = true;
    if (!t.tenant.empty()) one["tenant"] = t.tenant;
  }
  return out;
}

std::vector<TriedTarget> targets_from(const json& j) {
  std::vector<TriedTarget> out;
  for (const json& t : j) {
    out.push_back({t.at("name"), t.value("tenant", ""), t.value("at_least", false), t.at("value"),
                   t.at("limit"), t.at("met")});
  }
  return out;
}

void add_cost(const std::optional<MoreCost>& more, json& to) {
  if (!more) return;
  to["more_per_month"] = more->per_month;
  to["currency"] = more->currency;
}

std::optional<MoreCost> cost_from(const json& j) {
  if (!j.contains("more_per_month")) return std::nullopt;
  return MoreCost{j.at("more_per_month"), j.at("currency")};
}

json to_json(const TriedChange& tried) {
  json changes = json::array();
  for (const KeyChange& c : tried.changes) {
    changes.push_back({{"key", c.key}, {"from", c.from}, {"to", c.to}});
  }
  json out = {{"kind", name_of(tried.kind)},
              {"changes", changes},
              {"free", tried.free()},
              {"met", tried.met},
              {"replicates", tried.replicates},
              {"margin", tried.margin},
              {"targets", to_json(tried.targets)}};
  if (!tried.refused.empty()) out["refused"] = tried.refused;
  add_cost(tried.more, out);
  return out;
}

TriedChange tried_from(const json& j) {
  TriedChange out;
  out.kind = named(j.at("kind"), ChangeKind::kLonger);
  for (const json& c : j.at("changes")) {
    out.changes.push_back({c.at("key"), c.at("from"), c.at("to")});
  }
  out.met = j.at("met");
  out.replicates = j.at("replicates");
  out.margin = j.at("margin");
  out.targets = targets_from(j.at("targets"));
  out.refused = j.value("refused", "");
  out.more = cost_from(j);
  return out;
}

json to_json(const std::vector<TriedChange>& all) {
  json out = json::array();
  for (const TriedChange& tried : all) out.push_back(to_json(tried));
  return out;
}

std::vector<TriedChange> all_tried_from(const json& j) {
  std::vector<TriedChange> out;
  for (const json& tried : j) out.push_back(tried_from(tried));
  return out;
}

json to_json(const PlanAnswer& a) {
  json out = {{"verdict", name_of(a.verdict)},
              {"cause", name_of(a.cause)},
              {"alone", to_json(a.alone)},
              {"no_identity", a.no_identity},
              {"not_admitted_share", a.not_admitted_share},
              {"arrive_per_s", a.arrive_per_s},
              {"leave_per_s", a.leave_per_s}};
  if (a.remedy) out["remedy"] = to_json(*a.remedy);
  if (a.cheaper) out["cheaper"] = to_json(*a.cheaper);
  json& idle = out["not_acting"] = json::array();
  for (const IdleAxis& axis : a.idle) {
    idle.push_back({{"key", axis.key}, {"values", axis.values}, {"decides", axis.decides}});
  }
  return out;
}

PlanAnswer answer_from(const json& j) {
  PlanAnswer out;
  out.verdict = named(j.at("verdict"), AnswerVerdict::kUndecided);
  out.cause = named(j.at("cause"), AnswerCause::kBudget);
  out.alone = all_tried_from(j.at("alone"));
  out.no_identity = j.at("no_identity");
  out.not_admitted_share = j.at("not_admitted_share");
  out.arrive_per_s = j.at("arrive_per_s");
  out.leave_per_s = j.at("leave_per_s");
  if (j.contains("remedy")) out.remedy = tried_from(j.at("remedy"));
  if (j.contains("cheaper")) out.cheaper = tried_from(j.at("cheaper"));
  for (const json& axis : j.at("not_acting")) {
    out.idle.push_back(
        {axis.at("key"), axis.at("values").get<std::vector<std::string>>(), axis.at("decides")});
  }
  return out;
}

json to_json(const PlanFloor& floor) {
  json out = {{"met", floor.met}, {"targets", to_json(floor.targets)}};
  if (floor.met) return out;
  out["compute"] = to_json(floor.compute);
  out["lowered"] = to_json(floor.lowered);
  return out;
}

json to_json(const BreakingEvent& e) {
  json out = {{"kind", e.kind}, {"event", e.name}, {"replicates", e.replicates}};
  if (e.factor) out["factor"] = *e.factor;
  if (!e.target.empty()) {
    out["target"] = e.target;
    out["value"] = e.value;
    out["limit"] = e.limit;
  }
  return out;
}

BreakingEvent event_from(const json& j) {
  BreakingEvent out;
  out.kind = j.at("kind");
  out.name = j.at("event");
  out.replicates = j.at("replicates");
  if (j.contains("factor")) out.factor = j.at("factor").get<double>();
  if (j.contains("target")) {
    out.target = j.at("target");
    out.value = j.at("value");
    out.limit = j.at("limit");
  }
  return out;
}

json to_json(const PlanMargin& margin) {
  json broken = json::array();
  for (const BreakingEvent& event : margin.broken) broken.push_back(to_json(event));
  json out = {
      {"holds_alone", margin.broken.empty()}, {"broken", broken}, {"survived", margin.survived}};
  if (!margin.broken.empty()) out["nearest"] = broken.front();
  if (margin.next) {
    out["next_size"] = {{"capacity", margin.next->capacity},
                        {"index", margin.next->point},
                        {"more_bytes", margin.next->more_bytes},
                        {"survives", margin.next->survives}};
    add_cost(margin.next->more, out["next_size"]);
  }
  if (margin.growth) {
    out["growth"] = {{"forecast", margin.growth->forecast},
                     {"sessions", margin.growth->sessions},
                     {"change", to_json(margin.growth->change)}};
  }
  return out;
}

PlanMargin margin_from(const json& j, std::size_t cells) {
  PlanMargin out;
  for (const json& event : j.at("broken")) out.broken.push_back(event_from(event));
  out.survived = j.at("survived").get<std::vector<std::string>>();
  if (j.contains("growth")) {
    const json& growth = j.at("growth");
    out.growth =
        GrowthRemedy{growth.at("forecast"), growth.at("sessions"), tried_from(growth.at("change"))};
  }
  if (!j.contains("next_size")) return out;
  const json& next = j.at("next_size");
  check_index(next.at("index"), "results.margin.next_size.index", cells, "cells (points)");
  NextSize size;
  size.point = next.at("index");
  size.capacity = next.at("capacity");
  size.more_bytes = next.at("more_bytes");
  size.survives = next.at("survives").get<std::vector<std::string>>();
  size.more = cost_from(next);
  out.next = std::move(size);
  return out;
}

}  // namespace

void add_answer(const PlanResult& plan, json& results) {
  results["answer"] = to_json(plan.answer);
  if (plan.floor) results["floor"] = to_json(*plan.floor);
  if (const auto& c = plan.ceiling) {
    results["ceiling"] = {{"load", c->load},
                          {"requests_per_s", c->requests_per_s},
                          {"at_least", c->at_least},
                          {"runs", c->runs}};
  }
  if (plan.margin) results["margin"] = to_json(*plan.margin);
}

void read_answer(const json& results, PlanResult& plan) {
  if (!results.contains("answer")) return;
  plan.answer = answer_from(results.at("answer"));
  if (results.contains("floor")) {
    const json& j = results.at("floor");
    PlanFloor& floor = plan.floor.emplace();
    floor.met = j.at("met");
    floor.targets = targets_from(j.at("targets"));
    if (j.contains("compute")) floor.compute = targets_from(j.at("compute"));
    if (j.contains("lowered")) floor.lowered = all_tried_from(j.at("lowered"));
  }
  if (results.contains("ceiling")) {
    const json& j = results.at("ceiling");
    plan.ceiling =
        PlanCeiling{j.at("load"), j.at("requests_per_s"), j.at("at_least"), j.at("runs")};
  }
  if (results.contains("margin")) {
    plan.margin = margin_from(results.at("margin"), plan.points.size());
  }
}

}  // namespace spillway
