// Page 7: other demand, lost hosts, slow devices.
#include "reports/plan/cost_report.hpp"
#include "reports/plan/pages/pages.hpp"

namespace spillway {

Section scenarios_page(const PlanResult& plan) {
  Section page;
  if (plan.regret) page = regret_section(plan);
  page.id = "scenarios";
  page.heading = "Scenarios";
  return page;
}

}  // namespace spillway
