#include "reports/plan/cost_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/standing.hpp"

namespace spillway {

namespace {

Table items_table(const PlanCost& cost) {
  Table table;
  table.title = "What the recommended configuration consists of";
  table.header = {"item", "quantity", "unit", fmt::format("{} for one", cost.currency),
                  fmt::format("{} a month", cost.currency)};
  for (const CostItem& item : cost.items) {
    table.rows.push_back({item.name, format_real(item.quantity), item.unit, format_real(item.price),
                          format_real(item.per_month)});
  }
  return table;
}

Table cells_table(const PlanResult& plan) {
  const PlanCost& cost = *plan.cost;
  Table table;
  table.title = "Cost and attainment";
  table.header = {"configuration",
                  fmt::format("{} a month", cost.currency),
                  fmt::format("{} per million tokens", cost.currency),
                  fmt::format("requests in the SLO per {}", cost.currency),
                  "SLO",
                  "front"};
  for (const CellCost& cell : cost.cells) {
    if (static_cast<int>(cell.point) == plan.recommended) {
      table.highlight = static_cast<int>(table.rows.size());
    }
    table.rows.push_back(
        {spaced(name_of_cell(plan.points[cell.point])), format_real(cell.per_month),
         cell.per_million_tokens ? format_real(*cell.per_million_tokens) : "-",
         format_real(cell.goodput_per_cost), standing(plan, plan.points[cell.point]),
         cell.on_front       ? "yes"
         : cell.within_noise ? "within noise"
                             : "dominated"});
  }
  return table;
}

/// Cost against attainment: a cell is worth its price where no cheaper one attains as much.
Chart front_chart(const PlanResult& plan) {
  const PlanCost& cost = *plan.cost;
  const bool by_token = std::all_of(cost.cells.begin(), cost.cells.end(), [](const CellCost& cell) {
    return cell.per_million_tokens.has_value();
  });
  Chart chart;
  chart.kind = ChartKind::kScatter;
  chart.title = "Cost against requests within SLO";
  chart.x_label = fmt::format("{} {}", cost.currency, by_token ? "per million tokens" : "a month");
  chart.y_label = "% of requests within SLO";
  chart.points = true;
  std::vector<ChartSeries> series = {{"front: worth its price", {}, {}},
                                     {"no better than a cheaper one, but for noise", {}, {}},
                                     {"no better than a cheaper one", {}, {}},
                                     {"recommended", {}, {}}};
  std::vector<std::string> front;
  for (const CellCost& cell : cost.cells) {
    const PlanPoint& point = plan.points[cell.point];
    if (point.verdict == CellVerdict::kExcluded) continue;
    const bool chosen = static_cast<int>(cell.point) == plan.recommended;
    if (cell.on_front) front.push_back(spaced(name_of_cell(point)));
    ChartSeries& to = series[chosen ? 3 : cell.on_front ? 0 : cell.within_noise ? 1 : 2];
    to.x.push_back(by_token ? *cell.per_million_tokens : cell.per_month);
    to.y.push_back(100 * point.attainment);
  }
  for (ChartSeries& one : series) {
    if (!one.x.empty()) chart.series.push_back(std::move(one));
  }
  chart.note = front.empty() ? "No configuration attains more than every cheaper one."
                             : fmt::format(
                                   "On the front, where everything cheaper attains less: "
                                   "{}.",
                                   fmt::join(front, ", "));
  return chart;
}

Table wear_table(const std::vector<DriveWear>& wear) {
  Table table;
  table.title = "Wear of drives at the recommended size";
  table.header = {"tier", "written a day", "drive writes a day", "rated life in years"};
  for (const DriveWear& drive : wear) {
    table.rows.push_back(
        {drive.tier, format_bytes(drive.bytes_per_day),
         drive.drive_writes_per_day ? format_real(*drive.drive_writes_per_day) : "-",
         drive.life_years ? format_real(*drive.life_years) : "not known"});
  }
  return table;
}

}  // namespace

Section cost_section(const PlanResult& plan) {
  const PlanCost& cost = *plan.cost;
  Section section;
  section.heading = "Cost";
  for (std::string& sentence : cost_sentences(plan)) {
    section.paragraphs.push_back(std::move(sentence));
    if (plan.regret) break;  // regret has a section of its own
  }
  if (!cost.source.empty()) section.paragraphs.push_back("Prices: " + cost.source);
  if (cost.break_even) section.paragraphs.push_back(cost.break_even->says);
  for (const Note& note : cost.notes) section.paragraphs.push_back(note.text);
  if (cost.cells.size() > 1) section.charts.push_back(front_chart(plan));
  if (!cost.items.empty()) section.tables.push_back(items_table(cost));
  if (!cost.cells.empty()) section.tables.push_back(cells_table(plan));
  if (!cost.wear.empty()) section.tables.push_back(wear_table(cost.wear));
  return section;
}

Section regret_section(const PlanResult& plan) {
  const PlanRegret& regret = *plan.regret;
  Section section;
  section.heading = "Demand scenarios";
  section.paragraphs.push_back(regret.says);
  for (const Note& note : regret.notes) section.paragraphs.push_back(note.text);
  Table table;
  table.title = fmt::format("Regret in {}", regret.measure);
  table.header = {"configuration"};
  table.header.insert(table.header.end(), regret.demands.begin(), regret.demands.end());
  table.header.insert(table.header.end(), {"worst", "demands missed"});
  for (const RegretRow& row : regret.rows) {
    if (static_cast<int>(row.point) == plan.recommended) {
      table.highlight = static_cast<int>(table.rows.size());
    }
    std::vector<std::string> cells = {spaced(name_of_cell(plan.points[row.point]))};
    for (const DemandRegret& one : row.by_demand) {
      cells.push_back(one.met() ? format_real(*one.regret) : "misses");
    }
    const CellVerdict verdict = plan.points[row.point].verdict;
    if (!row.by_demand.empty() && !row.by_demand[0].met() && verdict == CellVerdict::kLooksMet) {
      cells[1] = "uncertain";
    }
    cells.push_back(format_real(row.worst));
    cells.push_back(format_count(row.missed));
    table.rows.push_back(std::move(cells));
  }
  section.tables.push_back(std::move(table));
  return section;
}

std::vector<std::string> cost_sentences(const PlanResult& plan) {
  std::vector<std::string> out;
  if (plan.cost && plan.recommended >= 0) {
    if (const CellCost* cell = cost_of(plan, plan.recommended)) {
      out.push_back(fmt::format(
          "Cost: {} {} a month{}", format_real(cell->per_month), plan.cost->currency,
          cell->per_million_tokens
              ? fmt::format(", {} per million tokens", format_real(*cell->per_million_tokens))
              : ""));
    }
  }
  if (plan.regret && !plan.regret->says.empty()) out.push_back(plan.regret->says);
  return out;
}

}  // namespace spillway
