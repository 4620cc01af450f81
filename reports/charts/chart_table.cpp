#include "reports/charts/chart_table.hpp"

#include <algorithm>
#include <cmath>

#include "reports/format.hpp"

namespace spillway {

namespace {

std::string figure(double value) {
  return std::isfinite(value) ? format_real(value) : "-";
}

std::string figure(const std::vector<double>& values, std::size_t i) {
  return i < values.size() ? figure(values[i]) : "-";
}

std::string with_unit(const std::string& label, const std::string& unit) {
  return unit.empty() ? label : label + " (" + unit + ")";
}

/// The name of a place on the x axis.
std::string place(const Chart& chart, double x) {
  if (chart.x_names.empty()) return figure(x);
  const double nearest = std::isfinite(x) ? std::floor(x + 0.5) : -1;
  const bool known = nearest >= 0 && nearest < static_cast<double>(chart.x_names.size());
  return known ? chart.x_names[static_cast<std::size_t>(nearest)] : figure(x);
}

bool banded(const ChartSeries& series) {
  return !series.low.empty() && !series.high.empty();
}

bool same_places(const Chart& chart) {
  for (const ChartSeries& series : chart.series) {
    if (series.x != chart.series.front().x) return false;
  }
  return true;
}

/// A row for each x, a column for each series, and for the ends of its band.
void beside_each_other(const Chart& chart, Table& table) {
  table.header = {chart.x_label.empty() ? "x" : chart.x_label};
  for (const ChartSeries& series : chart.series) {
    table.header.push_back(with_unit(series.name, chart.y_label));
    if (!banded(series)) continue;
    table.header.push_back(series.name + ", low");
    table.header.push_back(series.name + ", high");
  }
  for (std::size_t i = 0; i < chart.series.front().x.size(); ++i) {
    std::vector<std::string> row = {place(chart, chart.series.front().x[i])};
    for (const ChartSeries& series : chart.series) {
      row.push_back(figure(series.y, i));
      if (!banded(series)) continue;
      row.push_back(figure(series.low, i));
      row.push_back(figure(series.high, i));
    }
    table.rows.push_back(std::move(row));
  }
}

/// A row for each point of each series.
void below_each_other(const Chart& chart, Table& table) {
  const bool bands = std::any_of(chart.series.begin(), chart.series.end(), banded);
  table.header = {"series", chart.x_label.empty() ? "x" : chart.x_label,
                  chart.y_label.empty() ? "y" : chart.y_label};
  if (bands) table.header.insert(table.header.end(), {"low", "high"});
  for (const ChartSeries& series : chart.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      auto& row = table.rows.emplace_back(
          std::vector<std::string>{series.name, place(chart, series.x[i]), figure(series.y, i)});
      if (bands) row.insert(row.end(), {figure(series.low, i), figure(series.high, i)});
    }
  }
}

void tornado(const Chart& chart, Table& table) {
  table.header = {"factor", "low end", "gives", "high end", "gives"};
  for (const ChartBar& bar : chart.bars) {
    table.rows.push_back(
        {bar.name, bar.low_name, figure(bar.low), bar.high_name, figure(bar.high)});
  }
}

void stacks(const Chart& chart, Table& table) {
  table.header = {"bar"};
  for (const std::string& part : chart.part_names) {
    table.header.push_back(with_unit(part, chart.unit));
  }
  for (const ChartStack& stack : chart.stacks) {
    std::vector<std::string> row = {stack.name};
    for (std::size_t p = 0; p < std::max(chart.part_names.size(), stack.parts.size()); ++p) {
      row.push_back(figure(stack.parts, p));
    }
    table.rows.push_back(std::move(row));
  }
}

void heatmap(const Chart& chart, Table& table) {
  std::size_t columns = 0;
  for (const std::vector<double>& row : chart.cells) columns = std::max(columns, row.size());
  // Columns of the chart are rows here: there are more of them, and tables grow downwards.
  table.header = {chart.x_label.empty() ? "x" : chart.x_label};
  for (std::size_t r = 0; r < chart.cells.size(); ++r) {
    table.header.push_back(with_unit(r < chart.y_names.size() ? chart.y_names[r] : "", chart.unit));
  }
  for (std::size_t c = 0; c < columns; ++c) {
    std::vector<std::string> row = {c < chart.x_names.size() ? chart.x_names[c]
                                                             : std::to_string(c + 1)};
    for (const std::vector<double>& cells : chart.cells) row.push_back(figure(cells, c));
    table.rows.push_back(std::move(row));
  }
}

}  // namespace

Table chart_table(const Chart& chart) {
  Table table;
  table.title = chart.title;
  switch (chart.kind) {
    case ChartKind::kTornado:
      tornado(chart, table);
      break;
    case ChartKind::kStacks:
      stacks(chart, table);
      break;
    case ChartKind::kHeatmap:
      heatmap(chart, table);
      break;
    case ChartKind::kLines:
    case ChartKind::kScatter:
      if (chart.series.empty()) break;
      same_places(chart) ? beside_each_other(chart, table) : below_each_other(chart, table);
  }
  return table;
}

}  // namespace spillway
