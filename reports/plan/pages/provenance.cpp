// Page 12: where every figure comes from.
#include "reports/plan/pages/pages.hpp"
#include "reports/sections.hpp"

namespace spillway {

Section provenance_page(const PlanResult&, const Provenance& provenance) {
  Section page = provenance_section(provenance);
  page.id = "provenance";
  return page;
}

}  // namespace spillway
