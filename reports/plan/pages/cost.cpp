// Page 9: what it costs, and how fast drives wear.
#include <fmt/format.h>

#include "reports/plan/cost_report.hpp"
#include "reports/plan/pages/page_facts.hpp"
#include "reports/plan/pages/pages.hpp"

namespace spillway {

Section cost_page(const PlanResult& plan, const Provenance& provenance) {
  Section page;
  if (plan.cost) page = cost_section(plan);
  page.id = "cost";
  page.heading = "Cost";
  const bool priced = plan.cost && !plan.cost->currency.empty();
  if (!priced) {
    page.paragraphs.insert(
        page.paragraphs.begin(),
        "The plan was made without prices, so it knows no cost. A prices file says what a GPU's "
        "hour, a GiB of memory a month and a host cost (its form: spillway schema prices). With "
        "one, this page has the cost of every cell, which of them are worth their price, and how "
        "much memory costs as much as a GPU:");
    page.code.push_back(
        {"With prices", fmt::format("spillway plan {} --set "
                                    "plan.prices=scenarios/library/prices/list-2025.json",
                                    scenario_word(provenance))});
  } else if (plan.recommended < 0) {
    page.paragraphs.insert(page.paragraphs.begin(),
                           "Nothing is recommended, so there is no cost of the recommendation; "
                           "what each cell would cost is below.");
  }
  return page;
}

}  // namespace spillway
