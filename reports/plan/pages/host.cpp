// Page 8: what else needs the host's memory.
#include "reports/plan/pages/pages.hpp"

namespace spillway {

Section host_page(const PlanResult&, const Provenance&) {
  Section page;
  page.id = "host";
  page.heading = "Host budget";
  return page;
}

}  // namespace spillway
