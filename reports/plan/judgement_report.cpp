#include "reports/plan/judgement_report.hpp"

#include <fmt/format.h>

#include "reports/format.hpp"
#include "reports/plan/advice.hpp"
#include "reports/plan/flag_words.hpp"
#include "reports/plan/limits.hpp"

namespace spillway {

std::vector<std::string> judgement_sentences(const PlanResult& plan, Detail detail) {
  const bool brief = detail == Detail::kBrief;
  std::vector<std::string> out;
  for (const DecisionRow& row : plan.judgement.decision_table) {
    if (brief) break;
    const Advice advice = advice_for(row);
    out.push_back(fmt::format("{}: prefer {}, avoid {}. {}",
                              capitalised(std::string(advice.situation)), advice.prefer,
                              advice.avoid, row.measured.text));
  }
  for (const RuleOfThumb& rule : plan.judgement.rules_of_thumb) {
    if (rule.agrees) continue;
    out.push_back(
        fmt::format("Unlike the rule of thumb \"{}\": {}", rule_for(rule), rule.here.text));
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
    table.rows.push_back({part.name, format_percent(part.share), part.reason.text});
  }
  return table;
}

Table decision_rows_table(const PlanJudgement& judgement) {
  Table table;
  table.title = "Rows of the decision table that apply";
  table.header = {"situation", "prefer", "avoid", "measured here"};
  for (const DecisionRow& row : judgement.decision_table) {
    const Advice advice = advice_for(row);
    table.rows.push_back({std::string(advice.situation), std::string(advice.prefer),
                          std::string(advice.avoid), row.measured.text});
  }
  return table;
}

Table rules_table(const PlanJudgement& judgement) {
  Table table;
  table.title = "Rules of thumb";
  table.header = {"rule", "here", "agrees"};
  for (const RuleOfThumb& rule : judgement.rules_of_thumb) {
    table.rows.push_back(
        {std::string(rule_for(rule)), rule.here.text, rule.agrees ? "yes" : "no"});
  }
  return table;
}

}  // namespace spillway
