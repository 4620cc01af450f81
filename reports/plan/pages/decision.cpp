// Page 1: what to buy, what to set, what to expect.
#include <fmt/format.h>

#include "reports/plan/judgement_json.hpp"
#include "reports/plan/pages/pages.hpp"
#include "reports/plan/plan_parts.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/sections.hpp"

namespace spillway {

Section decision_page(const PlanResult& plan) {
  Section page;
  page.id = "decision";
  page.heading = "Decision";
  page.paragraphs.push_back(plan.verdict);
  for (std::string& sentence : decision_sentences(plan, Detail::kFull)) {
    page.paragraphs.push_back(std::move(sentence));
  }
  if (plan.recommended >= 0) {
    const PlanPoint& point = plan.points[static_cast<std::size_t>(plan.recommended)];
    if (plan.confidence) {
      page.tables.push_back(targets_table(point, plan.confidence->level));
    }
    Table& once = page.tables.emplace_back(slo_table(point.run.slo));
    once.title = fmt::format("Targets at {}, in one run of the workload itself", point.name);
  }
  page.tables.push_back(plan_table(plan));
  for (Table& table : judgement_tables(plan)) page.tables.push_back(std::move(table));
  return page;
}

}  // namespace spillway
