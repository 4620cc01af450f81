// Page 6: what would change the answer.
#include <fmt/format.h>

#include "reports/notes/notes.hpp"
#include "reports/plan/pages/page_facts.hpp"
#include "reports/plan/pages/pages.hpp"
#include "reports/plan/sensitivity_report.hpp"

namespace spillway {

namespace {

/// Why nothing was moved, and what to do for it.
std::string why_none(const PlanResult& plan) {
  if (plan.recommended < 0) {
    return "Nothing is recommended, so there is no recommendation that could change. What would "
           "bring one about stands on the first page.";
  }
  for (const Note& note : plan.notes) {
    if (text_figure(note, "what") == "Sensitivity") return note.text;
  }
  return "The plan was made without sensitivity: it does not know how far the recommendation "
         "holds. Without --no-sensitivity (plan.sensitivity in the scenario) it does:";
}

}  // namespace

Section sensitivity_page(const PlanResult& plan, const Provenance& provenance) {
  Section page;
  if (plan.sensitivity) {
    page = sensitivity_section(plan);
  } else {
    page.paragraphs.push_back(why_none(plan));
    if (page.paragraphs.front().ends_with(':')) {
      page.code.push_back(
          {"With sensitivity",
           fmt::format("spillway plan {} --set plan.sensitivity=true", scenario_word(provenance))});
    }
  }
  page.id = "sensitivity";
  page.heading = "Sensitivity";
  return page;
}

}  // namespace spillway
