// What a terminal shows of a plan: the answer, why, the curve by size and the cells around it. The
// report and the document have the rest.
#include <fmt/format.h>

#include "reports/format.hpp"
#include "reports/inputs_at.hpp"
#include "reports/plan/cost_report.hpp"
#include "reports/plan/host_budget.hpp"
#include "reports/plan/knee_curve.hpp"
#include "reports/plan/pages/not_to_miss.hpp"
#include "reports/plan/plan_parts.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/plan/sensitivity_report.hpp"
#include "reports/provenance.hpp"

namespace spillway {

namespace {

constexpr std::size_t kLimitsTold = 2;  // the nearest
constexpr std::size_t kMostRows = 15;

/// What stands in the notes of the report's section.
std::string behind(const Sensitivity& sensitivity) {
  return sensitivity.replicates == 1
             ? "one replicate: a guide, no bound"
             : fmt::format("the mean of {} replicates: a guide, no bound", sensitivity.replicates);
}

/// The size with what else the host needs, where the document says enough of the engine.
std::string what_to_buy(const PlanResult& plan, const Provenance& provenance) {
  if (plan.recommended < 0 || object_at(provenance.inputs, "configuration").empty()) return {};
  const std::string need = host_need(host_budget(plan, provenance));
  if (need.empty()) return {};
  return fmt::format("Buy: {} of {} {}", plan.recommended_size, plan.tier, need);
}

}  // namespace

Report plan_summary(const PlanResult& plan, const std::string& scenario,
                    const Provenance& provenance) {
  Report report;
  report.title = plan.verdict;
  Section& section = report.sections.emplace_back();
  section.paragraphs = decision_sentences(plan, Detail::kBrief);
  if (std::string buy = what_to_buy(plan, provenance); !buy.empty()) {
    section.paragraphs.insert(section.paragraphs.begin(), std::move(buy));
  }
  for (std::string& text : cost_sentences(plan)) section.paragraphs.push_back(std::move(text));
  for (const std::string& text : sensitivity_sentences(plan, kLimitsTold)) {
    section.paragraphs.push_back(fmt::format("{}, on {}", text, behind(*plan.sensitivity)));
  }
  if (std::string events = bad_events_sentence(plan); !events.empty()) {
    section.paragraphs.push_back(std::move(events));
  }
  if (auto curve = knee_curve(plan)) section.charts.push_back(*std::move(curve));
  Table& table = section.tables.emplace_back(brief_plan_table(plan, kMostRows));
  if (!scenario.empty()) table.title = fmt::format("{}. {}", scenario, table.title);
  if (const std::size_t more = plan.points.size() - table.rows.size(); more > 0) {
    report.sections.emplace_back().paragraphs = {
        fmt::format("{} more cells: in the report (--out DIR) and in --json", format_count(more))};
  }
  return report;
}

}  // namespace spillway
