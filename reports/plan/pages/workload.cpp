// Page 2: the traffic that the answer is about.
#include "reports/plan/pages/pages.hpp"
#include "reports/sections.hpp"

namespace spillway {

Section workload_page(const PlanResult&, const Provenance& provenance) {
  Section page = setup_section(provenance);
  page.id = "workload";
  page.heading = "Workload";
  return page;
}

}  // namespace spillway
