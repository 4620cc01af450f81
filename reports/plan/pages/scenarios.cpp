// Page 7: other demand, lost hosts, slow devices.
#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/plan/cost_report.hpp"
#include "reports/plan/margin_chart.hpp"
#include "reports/plan/pages/pages.hpp"

namespace spillway {

namespace {

const char* words(StressOutcome outcome) {
  switch (outcome) {
    case StressOutcome::kMet:
      return "met";
    case StressOutcome::kMissed:
      return "missed";
    case StressOutcome::kDown:
      return "down";
    case StressOutcome::kNotAsked:
      break;
  }
  return "not asked";
}

bool ran(const StressRow& row) {
  return row.outcome == StressOutcome::kMet || row.outcome == StressOutcome::kMissed;
}

Table grid(const PlanStress& stress) {
  Table table;
  table.title = fmt::format("The SLO at {}, each in one run of the workload itself", stress.cell);
  table.header = {"what happens", "SLO",    "tightest target", "figure",
                  "target",       "margin", "what was changed"};
  for (const StressRow& row : stress.rows) {
    if (!ran(row)) {
      table.rows.push_back({row.name, words(row.outcome), "-", "-", "-", "-", row.reason});
      continue;
    }
    table.rows.push_back(
        {row.name, words(row.outcome), row.target, format_real(row.value),
         fmt::format("{} {}", row.at_least ? "at least" : "at most", format_real(row.limit)),
         format_percent(row.margin), row.change});
  }
  return table;
}

Chart margins(const PlanStress& stress) {
  Chart chart = margin_chart("Margin to the tightest target");
  const StressRow* worst = nullptr;
  std::size_t missed = 0;
  for (const StressRow& row : stress.rows) {
    if (!ran(row)) continue;
    const double margin = drawn_margin(row.margin);
    chart.bars.push_back({row.name, std::min(0.0, margin), std::max(0.0, margin), "missed", "met"});
    if (row.outcome == StressOutcome::kMissed) ++missed;
    if (worst == nullptr || row.margin < worst->margin) worst = &row;
  }
  if (worst == nullptr) return chart;
  chart.note = fmt::format("{} of {} miss the SLO; the least margin is {} ({}).", missed,
                           chart.bars.size(), format_percent(worst->margin), worst->name);
  return chart;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return out;
}

/// The grid in a sentence or two.
std::string in_short(const PlanStress& stress) {
  std::vector<std::string> met;
  std::vector<std::string> missed;
  std::vector<std::string> down;
  for (const StressRow& row : stress.rows) {
    if (row.kind == "as-is") continue;
    if (row.outcome == StressOutcome::kMet) met.push_back(row.name);
    if (row.outcome == StressOutcome::kMissed) missed.push_back(row.name);
    if (row.outcome == StressOutcome::kDown) down.push_back(row.name);
  }
  std::string out;
  if (!met.empty()) out += fmt::format("{} still meets the SLO: {}. ", stress.cell, joined(met));
  if (!missed.empty()) out += fmt::format("It is missed: {}. ", joined(missed));
  if (!down.empty()) out += fmt::format("No service at all: {}. ", joined(down));
  if (!out.empty()) out.pop_back();
  return out;
}

Section restart_part(const PlanStress& stress) {
  const ColdRestart& restart = *stress.restart;
  Section part;
  part.heading = "Cold restart";
  const std::string when =
      restart.recovery_s
          ? fmt::format("After about {} they supply nine tenths of what they would have",
                        format_ms(1000 * *restart.recovery_s))
          : std::string("They do not come back to nine tenths of it before the workload ends");
  part.paragraphs.push_back(fmt::format(
      "All caches, HBM among them, are emptied {} s into the run. {}. Over the rest of the run {} "
      "of prompt tokens come from caches in place of {}.",
      format_real(restart.from_s), when, format_percent(restart.cold_share),
      format_percent(restart.warm_share)));
  if (restart.at_s.size() < 2) return part;
  Chart chart;
  chart.title = "Caches after a cold restart";
  chart.x_label = "seconds since the restart";
  chart.y_label = "% of prompt tokens from caches";
  const auto line = [&](const char* name, const std::vector<double>& shares) {
    ChartSeries out{name, restart.at_s, {}};
    for (const double share : shares) out.y.push_back(100 * share);
    return out;
  };
  chart.series = {line("caches kept", restart.warm), line("caches emptied", restart.cold)};
  chart.note = when + ".";
  part.charts.push_back(std::move(chart));
  return part;
}

void add_stress(const PlanResult& plan, Section& page) {
  const PlanStress& stress = *plan.stress;
  const std::string sentence = in_short(stress);
  if (!sentence.empty()) page.paragraphs.push_back(sentence);
  if (plan.recommended < 0) {
    page.paragraphs.push_back(
        fmt::format("Nothing is recommended; this is about {}, {}.", stress.cell,
                    plan.provisional >= 0 ? "for which the undecided plan speaks"
                                          : "which comes nearest to the SLO"));
  }
  for (const std::string& note : stress.notes) page.paragraphs.push_back(note + ".");
  page.tables.push_back(grid(stress));
  Chart chart = margins(stress);
  if (!chart.bars.empty()) page.charts.push_back(std::move(chart));
  if (stress.restart) page.parts.push_back(restart_part(stress));
}

}  // namespace

Section scenarios_page(const PlanResult& plan) {
  Section page;
  page.id = "scenarios";
  page.heading = "Scenarios";
  if (plan.stress) {
    add_stress(plan, page);
  } else {
    page.paragraphs.emplace_back(
        "Forecasts, peaks, a lost host, a cold restart and slow links were not asked about: "
        "plan.stress (or plan.sensitivity) is off, no cell could be judged, or the budget ended "
        "before them.");
  }
  if (plan.regret) {
    Section regret = regret_section(plan);
    regret.heading = "Other demand, by regret";
    page.parts.push_back(std::move(regret));
  } else {
    page.paragraphs.emplace_back(
        "plan.demand names further demands (more sessions, longer prompts, less reuse, new "
        "tenants), under each of which every size is then judged and ranked by regret.");
  }
  return page;
}

}  // namespace spillway
