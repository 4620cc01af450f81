// What a terminal shows of a plan: the answer, why, and the cells it was chosen from.
#include <fmt/format.h>

#include "reports/format.hpp"
#include "reports/plan/plan_parts.hpp"
#include "reports/report.hpp"

namespace spillway {

Report plan_summary(const PlanResult& plan, const std::string& scenario) {
  Report report;
  report.title = plan.verdict;
  Section section;
  section.paragraphs = decision_sentences(plan);
  section.tables.push_back(plan_table(plan));
  section.tables.front().title = scenario;
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace spillway
