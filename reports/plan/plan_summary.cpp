// What a terminal shows of a plan: the answer, why, and the cells it was chosen from.
#include <fmt/format.h>

#include "reports/format.hpp"
#include "reports/plan/cost_report.hpp"
#include "reports/plan/plan_parts.hpp"
#include "reports/plan/sensitivity_report.hpp"
#include "reports/report.hpp"

namespace spillway {

namespace {
constexpr std::size_t kLimitsTold = 2;  // the nearest; the report has all of them
}  // namespace

Report plan_summary(const PlanResult& plan, const std::string& scenario) {
  Report report;
  report.title = plan.verdict;
  Section section;
  section.paragraphs = decision_sentences(plan);
  for (std::string& text : cost_sentences(plan)) section.paragraphs.push_back(std::move(text));
  for (std::string& text : sensitivity_sentences(plan, kLimitsTold)) {
    section.paragraphs.push_back(std::move(text));
  }
  section.tables.push_back(plan_table(plan));
  section.tables.front().title = scenario;
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace spillway
