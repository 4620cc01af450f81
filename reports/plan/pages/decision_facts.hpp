// What a plan's first page says in large letters: read in ten seconds, whatever came out.
#pragma once

#include <string>
#include <vector>

#include "reports/plan/host_budget.hpp"
#include "reports/plan/pages/page_facts.hpp"
#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

struct DecisionList {
  std::vector<Fact> first;  ///< the answer, how sure it is, how long it holds
  std::vector<Fact> below;  ///< what else is known of it
};

/// Of a plan that recommends a size: buy, confidence, margin, set. Of one that does not: what fails
/// first, what would help or decide, and how sure that is.
DecisionList decision_facts(const PlanResult& plan, const Installed& installed,
                            const HostBudget& host);

}  // namespace spillway
