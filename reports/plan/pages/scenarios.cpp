// Page 7: other demand, lost hosts, slow devices.
#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/cost_report.hpp"
#include "reports/plan/limits.hpp"
#include "reports/plan/margin_chart.hpp"
#include "reports/plan/pages/pages.hpp"

namespace spillway {

namespace {

constexpr double kBarely = 0.1;  // of a target: less may be gone on another day

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
  table.title =
      fmt::format("The SLO at {}, each in one run of the workload itself", spaced(stress.cell));
  table.header = {"what happens", "SLO", "tightest target", "margin", "what was changed"};
  for (const StressRow& row : stress.rows) {
    if (!ran(row)) {
      table.rows.push_back({row.name, words(row.outcome), "-", "-", row.reason});
      continue;
    }
    table.rows.push_back({row.name, words(row.outcome),
                          row.target.empty()
                              ? "-"
                              : against_limit({row.target, "", row.value, row.limit, row.at_least}),
                          margin_text(row.margin), row.change});
  }
  return table;
}

std::string least_text(const StressRow& worst) {
  return worst.margin < -1 ? fmt::format("the worst figure is {}", margin_text(worst.margin))
                           : fmt::format("the least margin is {}", format_percent(worst.margin));
}

Chart margins(const PlanStress& stress) {
  Chart chart = margin_chart("Margin to the tightest target");
  const StressRow* worst = nullptr;
  std::size_t missed = 0;
  for (const StressRow& row : stress.rows) {
    if (!ran(row)) continue;
    const double margin = drawn_margin(row.margin);
    chart.bars.push_back({row.name, std::min(0.0, margin), std::max(0.0, margin), "missed", "met",
                          Status::kMissed, Status::kMet});
    if (row.outcome == StressOutcome::kMissed) ++missed;
    if (worst == nullptr || row.margin < worst->margin) worst = &row;
  }
  if (worst == nullptr) return chart;
  chart.note = fmt::format("{} of {} miss the SLO; {} ({}).", missed, chart.bars.size(),
                           least_text(*worst), worst->name);
  return chart;
}

/// The grid in a sentence or two.
std::string in_short(const PlanStress& stress) {
  std::vector<std::string> met;
  std::vector<std::string> missed;
  std::vector<std::string> down;
  for (const StressRow& row : stress.rows) {
    if (row.kind == "as-is") continue;
    if (row.outcome == StressOutcome::kMet) {
      const bool barely = row.margin < kBarely;
      met.push_back(row.name +
                    (barely ? fmt::format(" (barely: {} left)", format_percent(row.margin)) : ""));
    }
    if (row.outcome == StressOutcome::kMissed) missed.push_back(row.name);
    if (row.outcome == StressOutcome::kDown) down.push_back(row.name);
  }
  std::string out;
  if (!met.empty())
    out += fmt::format("{} still meets the SLO: {}. ", spaced(stress.cell), and_list(met));
  if (!missed.empty()) out += fmt::format("It is missed: {}. ", and_list(missed));
  if (!down.empty()) out += fmt::format("No service at all: {}. ", and_list(down));
  if (!out.empty()) out.pop_back();
  return out;
}

std::string recovery_text(const ColdRestart& restart) {
  return restart.recovery_s
             ? fmt::format("After about {} caches supply 90% of what they would have",
                           format_ms(1000 * *restart.recovery_s))
             : std::string("Caches do not recover before the workload ends");
}

Chart restart_chart(const ColdRestart& restart) {
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
  chart.note = fmt::format("All caches are emptied {} s into the run. {}.",
                           format_real(restart.from_s), recovery_text(restart));
  return chart;
}

Section restart_part(const ColdRestart& restart) {
  Section part;
  part.heading = "Cold restart";
  part.folded = true;
  part.paragraphs.push_back(fmt::format(
      "All caches, HBM among them, are emptied {} s into the run. {}. Over the rest of the run {} "
      "of prompt tokens come from caches, {} without the restart.",
      format_real(restart.from_s), recovery_text(restart), format_percent(restart.cold_share),
      format_percent(restart.warm_share)));
  return part;
}

/// What grows, beside the factor of the other page that sounds alike.
std::string what_grows(const PlanResult& plan) {
  const auto& rows = plan.stress->rows;
  const bool any = std::any_of(rows.begin(), rows.end(),
                               [](const StressRow& row) { return is_growth(row) && ran(row); });
  if (!any) return "";
  std::string out =
      "Forecasts and peaks have more sessions in the same time, each with prompts of its own: "
      "requests come more often, and caches have more to hold.";
  if (!plan.sensitivity) return out;
  for (const SensitivityRow& row : plan.sensitivity->rows) {
    const std::string meaning = factor_meaning(row.factor);
    if (meaning.empty()) continue;
    out += fmt::format(" That is more than the factor \"{}\" of page Sensitivity, which is {}.",
                       row.factor, meaning);
  }
  return out;
}

/// The cells that meet the SLO under the demand of plan.demand that has the event's name.
std::vector<std::string> survivors(const PlanResult& plan, const StressRow& row) {
  std::vector<std::string> out;
  if (!plan.regret) return out;
  const auto& demands = plan.regret->demands;
  const auto at = std::find(demands.begin(), demands.end(), row.name) - demands.begin();
  for (const RegretRow& cell : plan.regret->rows) {
    if (static_cast<std::size_t>(at) >= cell.by_demand.size()) continue;
    if (!cell.by_demand[static_cast<std::size_t>(at)].met()) continue;
    if (cell.point >= plan.points.size()) continue;
    out.push_back(spaced(name_of_cell(plan.points[cell.point])));
  }
  return out;
}

/// For what is missed under more traffic: which cell of those tried would not, if that was asked.
std::string what_survives(const PlanResult& plan) {
  std::string out;
  std::vector<std::string> open;
  for (const StressRow& row : plan.stress->rows) {
    if (!is_growth(row) || row.outcome != StressOutcome::kMissed) continue;
    const bool asked =
        plan.regret && std::find(plan.regret->demands.begin(), plan.regret->demands.end(),
                                 row.name) != plan.regret->demands.end();
    if (plan.margin && plan.margin->growth && plan.margin->growth->forecast == row.name) {
      out += fmt::format("For {} of growth: {}. ", forecast_span(row.name),
                         growth_remedy_words(*plan.margin));
      continue;
    }
    if (!asked) {
      open.push_back(row.name);
      continue;
    }
    const std::vector<std::string> cells = survivors(plan, row);
    out += fmt::format("{}: {}. ", row.name,
                       cells.empty() ? "no size that was tried meets the SLO"
                                     : "the SLO is met by " + and_list(cells));
  }
  if (!open.empty()) {
    out += fmt::format("What would survive {} was not tried: these are runs of {} alone. ",
                       and_list(open), spaced(plan.stress->cell));
  }
  if (!out.empty()) out.pop_back();
  return out;
}

void add_stress(const PlanResult& plan, Section& page) {
  const PlanStress& stress = *plan.stress;
  if (plan.recommended < 0) {
    page.paragraphs.push_back(
        fmt::format("Nothing is recommended; this is about {}, {}.", spaced(stress.cell),
                    plan.provisional >= 0 ? "the best so far" : "which comes nearest to the SLO"));
  }
  Section details;
  details.heading = "In sentences";
  details.folded = true;
  for (std::string text : {in_short(stress), what_survives(plan), what_grows(plan)}) {
    if (!text.empty()) details.paragraphs.push_back(std::move(text));
  }
  for (const Note& note : stress.notes) details.paragraphs.push_back(note.text);
  if (Chart chart = margins(stress); !chart.bars.empty()) page.charts.push_back(std::move(chart));
  if (stress.restart && stress.restart->at_s.size() > 1) {
    page.charts.push_back(restart_chart(*stress.restart));
  }
  page.tables.push_back(grid(stress));
  if (stress.restart) page.parts.push_back(restart_part(*stress.restart));
  if (!details.paragraphs.empty()) page.parts.push_back(std::move(details));
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
        "plan.stress (or plan.sensitivity) is off, no size could be judged, or the budget ended "
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
