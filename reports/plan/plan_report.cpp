// A plan's report: twelve pages.
#include "reports/plan/plan_report.hpp"

#include "reports/plan/pages/pages.hpp"
#include "reports/provenance.hpp"

namespace spillway {

Report plan_report(const PlanResult& plan, const Provenance& p) {
  Report report;
  report.title = "Plan: " + p.scenario;
  report.subtitle = plan.verdict;
  report.status = plan.recommended >= 0 ? Status::kMet
                  : plan.undecided      ? Status::kUncertain
                                        : Status::kMissed;
  report.sections = {decision_page(plan, p), workload_page(plan, p), knee_page(plan),
                     policies_page(plan, p), time_page(plan),        sensitivity_page(plan, p),
                     scenarios_page(plan),   host_page(plan, p),     cost_page(plan, p),
                     apply_page(plan, p),    validity_page(plan, p), provenance_page(plan, p)};
  return report;
}

}  // namespace spillway
