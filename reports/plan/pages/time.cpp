// Page 5: what a first token waits for.
#include "reports/plan/pages/pages.hpp"

namespace spillway {

Section time_page(const PlanResult&) {
  Section page;
  page.id = "time";
  page.heading = "Where time goes";
  return page;
}

}  // namespace spillway
