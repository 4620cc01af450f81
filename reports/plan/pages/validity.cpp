// Page 11: what the answer rests on.
#include "reports/plan/pages/pages.hpp"

namespace spillway {

Section validity_page(const PlanResult&, const Provenance&) {
  Section page;
  page.id = "validity";
  page.heading = "Validity";
  return page;
}

}  // namespace spillway
