// Page 6: what would change the answer.
#include "reports/plan/pages/pages.hpp"
#include "reports/plan/sensitivity_report.hpp"

namespace spillway {

Section sensitivity_page(const PlanResult& plan) {
  Section page;
  if (plan.sensitivity) page = sensitivity_section(plan);
  page.id = "sensitivity";
  page.heading = "Sensitivity";
  return page;
}

}  // namespace spillway
