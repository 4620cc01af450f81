#include "reports/plan/judgement_json.hpp"

#include <fmt/format.h>

#include "reports/format.hpp"
#include "reports/plan/flags_json.hpp"
#include "reports/plan/limits.hpp"

namespace spillway {

using nlohmann::json;

namespace {

json to_json(const Counterfactual& row) {
  return {{"kind", row.kind},
          {"change", row.change},
          {"value", row.value},
          {"margin", row.margin},
          {"met", row.met}};
}

Counterfactual counterfactual_from_json(const json& j) {
  return {j.at("kind"), j.at("change"), j.at("value"), j.at("margin"), j.at("met")};
}

json to_json(const Counterfactuals& tried) {
  json changes = json::array();
  for (const Counterfactual& row : tried.all) changes.push_back(to_json(row));
  return {{"cell", tried.cell},
          {"target", tried.target},
          {"base", to_json(tried.base)},
          {"changes", changes},
          {"notes", tried.notes}};
}

Counterfactuals counterfactuals_from_json(const json& j) {
  Counterfactuals out;
  out.cell = j.at("cell");
  out.target = j.at("target");
  out.base = counterfactual_from_json(j.at("base"));
  for (const json& row : j.at("changes")) out.all.push_back(counterfactual_from_json(row));
  out.notes = j.at("notes").get<std::vector<std::string>>();
  return out;
}

}  // namespace

void add_judgement(const PlanResult& plan, json& results) {
  const PlanJudgement& j = plan.judgement;
  results["binding_kind"] = j.binding_kind;
  json& headroom = results["headroom_parts"] = json::array();
  for (const HeadroomPart& part : j.headroom) {
    headroom.push_back({{"name", part.name}, {"share", part.share}, {"reason", part.reason}});
  }
  json& verdicts = results["verdicts"] = json::array();
  for (const NamedVerdict& verdict : j.verdicts) {
    verdicts.push_back({{"code", verdict.code}, {"text", verdict.text}});
  }
  json& table = results["decision_table"] = json::array();
  for (const DecisionRow& row : j.decision_table) {
    table.push_back({{"situation", row.situation},
                     {"prefer", row.prefer},
                     {"avoid", row.avoid},
                     {"measured", row.measured}});
  }
  json& rules = results["rules_of_thumb"] = json::array();
  for (const RuleOfThumb& rule : j.rules_of_thumb) {
    rules.push_back({{"rule", rule.rule}, {"here", rule.here}, {"agrees", rule.agrees}});
  }
  if (const auto& bound = j.policy_bound) {
    results["policy_bound"] = {{"cell", bound->cell},
                               {"policy", bound->policy},
                               {"policy_share", bound->share},
                               {"optimum_share", bound->optimum},
                               {"content_share", bound->content}};
  }
  if (j.counterfactuals) results["counterfactuals"] = to_json(*j.counterfactuals);
  if (plan.flags) results["flags"] = to_json(*plan.flags);
}

void read_judgement(const json& results, PlanResult& plan) {
  PlanJudgement& out = plan.judgement;
  out.binding_kind = results.at("binding_kind");
  for (const json& part : results.at("headroom_parts")) {
    out.headroom.push_back({part.at("name"), part.at("share"), part.at("reason")});
  }
  for (const json& verdict : results.at("verdicts")) {
    out.verdicts.push_back({verdict.at("code"), verdict.at("text")});
  }
  for (const json& row : results.at("decision_table")) {
    out.decision_table.push_back(
        {row.at("situation"), row.at("prefer"), row.at("avoid"), row.at("measured")});
  }
  for (const json& rule : results.at("rules_of_thumb")) {
    out.rules_of_thumb.push_back({rule.at("rule"), rule.at("here"), rule.at("agrees")});
  }
  if (results.contains("policy_bound")) {
    const json& bound = results.at("policy_bound");
    out.policy_bound = PolicyBound{bound.at("cell"), bound.at("policy"), bound.at("policy_share"),
                                   bound.at("optimum_share"), bound.at("content_share")};
  }
  if (results.contains("counterfactuals")) {
    out.counterfactuals = counterfactuals_from_json(results.at("counterfactuals"));
  }
  if (results.contains("flags")) plan.flags = flags_from_json(results.at("flags"));
}

std::vector<std::string> judgement_sentences(const PlanResult& plan, Detail detail) {
  const bool brief = detail == Detail::kBrief;
  std::vector<std::string> out;
  for (const DecisionRow& row : plan.judgement.decision_table) {
    if (brief) break;
    out.push_back(fmt::format("Decision table, \"{}\": prefer {}, avoid {} ({})", row.situation,
                              row.prefer, row.avoid, row.measured));
  }
  for (const RuleOfThumb& rule : plan.judgement.rules_of_thumb) {
    if (rule.agrees) continue;
    // Behind the last semicolon stands what the arithmetic comes to.
    const std::size_t end = brief ? rule.here.rfind("; ") : std::string::npos;
    out.push_back(fmt::format("Not as the rule of thumb \"{}\": {}", rule.rule,
                              end == std::string::npos ? rule.here : rule.here.substr(end + 2)));
  }
  if (!plan.flags) return out;
  for (std::string& sentence : flag_sentences(*plan.flags, detail)) {
    out.push_back(std::move(sentence));
  }
  return out;
}

Table counterfactuals_table(const Counterfactuals& tried) {
  Table table;
  table.title = fmt::format(
      "What would bring {} nearer to the SLO, in a run of the workload itself", tried.cell);
  table.header = {"change", tried.target, "margin of the tightest target", "SLO in that run"};
  const auto add = [&](const Counterfactual& row) {
    table.rows.push_back(
        {row.change, format_real(row.value), margin_text(row.margin), row.met ? "met" : "missed"});
  };
  add(tried.base);
  for (const Counterfactual& row : tried.all) add(row);
  return table;
}

Table headroom_table(const PlanJudgement& judgement) {
  Table table;
  table.title = "Headroom";
  table.header = {"part", "share", "reason"};
  for (const HeadroomPart& part : judgement.headroom) {
    table.rows.push_back({part.name, format_percent(part.share), part.reason});
  }
  return table;
}

Table decision_rows_table(const PlanJudgement& judgement) {
  Table table;
  table.title = "Rows of the decision table that apply";
  table.header = {"situation", "prefer", "avoid", "measured here"};
  for (const DecisionRow& row : judgement.decision_table) {
    table.rows.push_back({row.situation, row.prefer, row.avoid, row.measured});
  }
  return table;
}

Table rules_table(const PlanJudgement& judgement) {
  Table table;
  table.title = "Rules of thumb";
  table.header = {"rule", "here", "agrees"};
  for (const RuleOfThumb& rule : judgement.rules_of_thumb) {
    table.rows.push_back({rule.rule, rule.here, rule.agrees ? "yes" : "no"});
  }
  return table;
}

}  // namespace spillway
