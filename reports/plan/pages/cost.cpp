// Page 9: what it costs.
#include "reports/plan/cost_report.hpp"
#include "reports/plan/pages/pages.hpp"

namespace spillway {

Section cost_page(const PlanResult& plan) {
  Section page;
  if (plan.cost) page = cost_section(plan);
  page.id = "cost";
  page.heading = "Cost";
  return page;
}

}  // namespace spillway
