// Page 4: what the policy leaves on the table.
#include "reports/plan/pages/pages.hpp"

namespace spillway {

Section policies_page(const PlanResult&) {
  Section page;
  page.id = "policies";
  page.heading = "Policies";
  return page;
}

}  // namespace spillway
