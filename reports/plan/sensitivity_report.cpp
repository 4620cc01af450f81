#include "reports/plan/sensitivity_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/limits.hpp"
#include "reports/plan/margin_chart.hpp"

namespace spillway {

namespace {

std::string side_text(const SensitivitySide& side) {
  if (side.factor == 1) return "-";
  return fmt::format("{} ({})", side.met ? "met" : "missed", margin_text(side.margin));
}

std::string limits(const PlanResult& plan, const SensitivityRow& row) {
  std::vector<std::string> out;
  for (const FactorLimit& limit : factor_limits(plan)) {
    if (limit.factor != row.factor) continue;
    const char* side = limit.above ? "above" : "below";
    out.push_back(limit.misses ? fmt::format("{} {}: {} misses", side, format_real(limit.holds),
                                             format_real(*limit.misses))
                               : fmt::format("{} {}", side, format_real(limit.holds)));
  }
  return out.empty() ? "-" : and_list(out);
}

/// How far from 1 the recommendation ends, as a ratio; infinite where it was not found to.
double distance(const SensitivityRow& row) {
  double out = std::numeric_limits<double>::infinity();
  if (row.changes_below && *row.changes_below > 0) out = 1 / *row.changes_below;
  if (row.changes_above) out = std::min(out, *row.changes_above);
  return out;
}

Chart tornado(const Sensitivity& sensitivity) {
  Chart chart = margin_chart("Margin of the tightest target, each factor moved alone");
  chart.bars_from = drawn_margin(sensitivity.margin);
  for (const SensitivityRow& row : sensitivity.rows) {
    const auto status = [](bool met) { return met ? Status::kMet : Status::kMissed; };
    chart.bars.push_back({row.factor, drawn_margin(row.low.margin), drawn_margin(row.high.margin),
                          fmt::format("x {}", format_real(row.low.factor)),
                          fmt::format("x {}", format_real(row.high.factor)), status(row.low.met),
                          status(row.high.met)});
  }
  const SensitivityRow& first = sensitivity.rows.front();
  chart.note = fmt::format("Margin as it is: {}. {} moves it most: {} at x {}, {} at x {}.",
                           format_percent(sensitivity.margin), capitalised(first.factor),
                           margin_text(first.low.margin), format_real(first.low.factor),
                           margin_text(first.high.margin), format_real(first.high.factor));
  return chart;
}

}  // namespace

Section sensitivity_section(const PlanResult& plan) {
  const Sensitivity& sensitivity = *plan.sensitivity;
  Section section;
  section.heading = "Sensitivity";
  std::vector<std::string> said = sensitivity_sentences(plan, sensitivity.rows.size());
  section.paragraphs.push_back(
      fmt::format("Each factor was moved alone, in {} runs on {} replicate{}. {}",
                  format_count(sensitivity.runs), sensitivity.replicates,
                  sensitivity.replicates == 1 ? "" : "s",
                  said.empty() && !sensitivity.rows.empty()
                      ? "No factor changes the recommendation."
                      : "Factors stand by how far they move the margin."));
  Section details;
  details.heading = "In sentences";
  details.folded = true;
  details.paragraphs = std::move(said);
  for (const SensitivityRow& row : sensitivity.rows) {
    const std::string meaning = factor_meaning(row.factor);
    if (meaning.empty()) continue;
    details.paragraphs.push_back(fmt::format(
        "\"{}\" is {}; forecasts and peaks of page Scenarios have more sessions instead, which "
        "also need more room in caches",
        row.factor, meaning));
  }
  for (const Note& note : sensitivity.notes) details.paragraphs.push_back(note.text);
  if (!details.paragraphs.empty()) section.parts.push_back(std::move(details));
  Table table;
  table.title = fmt::format(
      "Margin of the tightest target at the recommended size: {} as it is, on {} replicate{}",
      format_percent(sensitivity.margin), sensitivity.replicates,
      sensitivity.replicates == 1 ? "" : "s");
  table.header = {"factor", "times",        "SLO (margin)", "size needed",
                  "times",  "SLO (margin)", "size needed",  "recommendation changes"};
  const auto size = [](const std::string& needed) { return needed.empty() ? "-" : spaced(needed); };
  for (const SensitivityRow& row : sensitivity.rows) {
    table.rows.push_back({row.factor, format_real(row.low.factor), side_text(row.low),
                          size(row.low.needed), format_real(row.high.factor), side_text(row.high),
                          size(row.high.needed), limits(plan, row)});
  }
  if (!table.rows.empty()) {
    section.tables.push_back(std::move(table));
    section.charts.push_back(tornado(sensitivity));
  }
  return section;
}

std::vector<std::string> sensitivity_sentences(const PlanResult& plan, std::size_t most) {
  if (!plan.sensitivity) return {};
  std::vector<const SensitivityRow*> rows;
  for (const SensitivityRow& row : plan.sensitivity->rows) {
    if (row.changes_below || row.changes_above) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const SensitivityRow* a, const SensitivityRow* b) {
    return distance(*a) < distance(*b);
  });
  if (rows.size() > most) rows.resize(most);
  std::vector<std::string> out;
  for (const SensitivityRow* row : rows) out.push_back(row->says);
  return out;
}

}  // namespace spillway
