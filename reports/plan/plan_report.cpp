// A plan's report: twelve pages.
#include "reports/plan/plan_report.hpp"

#include <fmt/format.h>

#include "reports/plan/cells.hpp"
#include "reports/plan/pages/pages.hpp"

namespace spillway {

namespace {

/// What the verdict's figure is taken over; it is others' in one run.
std::string basis_of(const PlanResult& plan) {
  if (plan.recommended < 0 || !plan.confidence) return "";
  const std::uint32_t n = cell_at(plan, plan.recommended).replications;
  return n == 0 ? "" : fmt::format(", over {} replicate{}", n, n == 1 ? "" : "s");
}

}  // namespace

Report plan_report(const PlanResult& plan, const Provenance& p) {
  Report report;
  report.title = "Plan: " + p.scenario;
  report.subtitle = plan.verdict + basis_of(plan);
  report.sections = {decision_page(plan, p), workload_page(plan, p), knee_page(plan),
                     policies_page(plan, p), time_page(plan),        sensitivity_page(plan, p),
                     scenarios_page(plan),   host_page(plan, p),     cost_page(plan, p),
                     apply_page(plan, p),    validity_page(plan, p), provenance_page(plan, p)};
  return report;
}

}  // namespace spillway
