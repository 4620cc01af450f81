#include "reports/plan/pages/size_grid.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"

namespace spillway {

namespace {

constexpr std::size_t kMostLines = 8;  // that can be told apart in one chart

using SizeKey = std::pair<bool, std::int64_t>;  // no bound comes last

SizeKey size_key(const PlanPoint& point) {
  return {point.unbounded, point.unbounded ? 0 : point.capacity_bytes};
}

/// The lines to draw: that of the answer and the best of the others, in the order they were tried.
std::vector<std::vector<int>> drawn_lines(const PlanResult& plan, int answer) {
  std::vector<std::vector<int>> lines = size_lines(plan);
  if (lines.size() <= kMostLines) return lines;
  const auto best = [&](const std::vector<int>& line) -> const PlanPoint& {
    return cell_at(plan, *std::max_element(line.begin(), line.end(), [&](int a, int b) {
                     return stands_worse(cell_at(plan, a), cell_at(plan, b));
                   }));
  };
  const auto has_answer = [&](const std::vector<int>& line) {
    return std::find(line.begin(), line.end(), answer) != line.end();
  };
  std::stable_sort(lines.begin(), lines.end(), [&](const auto& a, const auto& b) {
    if (has_answer(a) != has_answer(b)) return has_answer(a);
    return stands_worse(best(b), best(a));
  });
  lines.resize(kMostLines);
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// What was searched, where that is one key.
std::string values_label(const PlanPoint& point) {
  return point.values.size() == 1 ? point.values.front().first : "configuration";
}

SizeGrid grid_over_values(const PlanResult& plan) {
  SizeGrid grid;
  grid.over_values = true;
  grid.x_label = values_label(plan.points.front());
  grid.answer = 0;
  GridLine& line = grid.lines.emplace_back();
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    grid.x_names.push_back(line_name(plan.points[i]));
    line.cells.push_back(static_cast<int>(i));
  }
  return grid;
}

}  // namespace

SizeGrid size_grid(const PlanResult& plan) {
  if (plan.points.empty()) return {};
  std::map<SizeKey, std::size_t> places;
  for (const PlanPoint& point : plan.points) places.emplace(size_key(point), 0);
  if (places.size() == 1 && plan.points.size() > 1) return grid_over_values(plan);

  SizeGrid grid;
  grid.x_label = (plan.tier == "dram" ? "DRAM" : plan.tier) + " size";
  for (auto& [key, place] : places) {
    place = grid.x_names.size();
    grid.x_names.emplace_back();
  }
  const int answer = spoken_of(plan);
  const std::vector<std::vector<int>> lines = drawn_lines(plan, answer);
  grid.left_out = size_lines(plan).size() - lines.size();
  for (const std::vector<int>& cells : lines) {
    GridLine& line = grid.lines.emplace_back();
    line.name = line_name(cell_at(plan, cells.front()));
    line.cells.assign(places.size(), -1);
    for (const int cell : cells) {
      const PlanPoint& point = cell_at(plan, cell);
      const std::size_t place = places.at(size_key(point));
      line.cells[place] = cell;
      grid.x_names[place] = spaced(point.capacity.empty() ? name_of_cell(point) : point.capacity);
      if (cell == answer) grid.answer = static_cast<int>(grid.lines.size()) - 1;
    }
  }
  return grid;
}

Chart chart_over(const SizeGrid& grid, std::string title, std::string y_label) {
  Chart chart;
  chart.title = std::move(title);
  chart.x_label = grid.x_label;
  chart.y_label = std::move(y_label);
  chart.x_names = grid.x_names;
  chart.points = true;
  return chart;
}

ChartSeries series_along(const PlanResult& plan, const GridLine& line, std::string name,
                         const CellValue& value) {
  ChartSeries out;
  out.name = std::move(name);
  for (std::size_t i = 0; i < line.cells.size(); ++i) {
    const bool ran = line.cells[i] >= 0 && has_run(cell_at(plan, line.cells[i]));
    out.x.push_back(static_cast<double>(i));
    out.y.push_back(ran ? value(cell_at(plan, line.cells[i])) : kNoPoint);
  }
  return out;
}

std::vector<ChartSeries> series_of_lines(const PlanResult& plan, const SizeGrid& grid,
                                         const CellValue& value) {
  std::vector<ChartSeries> out;
  for (const GridLine& line : grid.lines) {
    out.push_back(series_along(plan, line, line.name, value));
  }
  return out;
}

}  // namespace spillway
