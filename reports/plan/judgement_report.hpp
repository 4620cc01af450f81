// What a plan's judgement says: as sentences and as tables.
#pragma once

#include <string>
#include <vector>

#include "reports/plan/plan_parts.hpp"
#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// Rows of the decision table (in full only), rules of thumb that do not agree, and the flags to
/// set.
std::vector<std::string> judgement_sentences(const PlanResult& plan, Detail detail);

/// What each change to the cell that comes nearest brought.
Table counterfactuals_table(const Counterfactuals& tried);
Table headroom_table(const PlanJudgement& judgement);
Table decision_rows_table(const PlanJudgement& judgement);
/// All of them, those that agree too.
Table rules_table(const PlanJudgement& judgement);

}  // namespace spillway
