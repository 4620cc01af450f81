// Page 10: what to set, how to go back, what to watch.
#include "reports/plan/pages/pages.hpp"

namespace spillway {

Section apply_page(const PlanResult&, const Provenance&) {
  Section page;
  page.id = "apply";
  page.heading = "Apply";
  return page;
}

}  // namespace spillway
