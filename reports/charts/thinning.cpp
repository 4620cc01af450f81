#include "reports/charts/thinning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/format.hpp"

namespace spillway {

namespace {

/// Of [from, to): where the least and the greatest finite value of `y` are, or the first place.
void add_extremes(const std::vector<double>& y, std::size_t from, std::size_t to,
                  std::set<std::size_t>& keep) {
  std::size_t low = to;
  std::size_t high = to;
  for (std::size_t i = from; i < to && i < y.size(); ++i) {
    if (!std::isfinite(y[i])) continue;
    if (low == to || y[i] < y[low]) low = i;
    if (high == to || y[i] > y[high]) high = i;
  }
  keep.insert(low == to ? from : low);
  keep.insert(high == to ? from : high);
}

std::vector<double> at(const std::vector<double>& values, const std::set<std::size_t>& keep) {
  std::vector<double> out;
  for (const std::size_t i : keep) {
    if (i < values.size()) out.push_back(values[i]);
  }
  return out;
}

/// Series over the same x keep the same places, so that they stay beside each other in a table.
void thin_together(std::vector<ChartSeries*>& group, std::size_t most) {
  const std::size_t size = group.front()->x.size();
  if (size <= most) return;
  const std::size_t buckets = std::max(most / (2 * group.size()), most / 6);
  std::set<std::size_t> keep = {0, size - 1};
  for (std::size_t b = 0; b < buckets; ++b) {
    const std::size_t from = b * size / buckets;
    const std::size_t to = (b + 1) * size / buckets;
    for (const ChartSeries* series : group) add_extremes(series->y, from, to, keep);
  }
  for (ChartSeries* series : group) {
    series->status.clear();  // of a line with so many points nobody reads one
    for (auto* values : {&series->y, &series->low, &series->high, &series->x}) {
      *values = at(*values, keep);
    }
  }
}

std::size_t points_of(const Chart& chart) {
  std::size_t out = 0;
  for (const ChartSeries& series : chart.series) out += series.x.size();
  return out;
}

void thin_series(Chart& chart, std::size_t most) {
  std::vector<ChartSeries*> left;
  for (ChartSeries& series : chart.series) {
    if (!series.x.empty()) left.push_back(&series);
  }
  while (!left.empty()) {
    const std::vector<double> x = left.front()->x;
    std::vector<ChartSeries*> group;
    std::vector<ChartSeries*> others;
    for (ChartSeries* series : left) (series->x == x ? group : others).push_back(series);
    if (group.empty()) {  // x that is no number equals nothing, itself included
      group.push_back(left.front());
      others.erase(others.begin());
    }
    thin_together(group, most);
    left = std::move(others);
  }
}

void join_columns(Chart& chart, std::size_t columns, std::size_t most) {
  const auto joined = [&](const std::vector<double>& row) {
    std::vector<double> out;
    for (std::size_t c = 0; c < most; ++c) {
      double highest = std::nan("");
      for (std::size_t i = c * columns / most; i < (c + 1) * columns / most && i < row.size();
           ++i) {
        if (std::isfinite(row[i]) && !(row[i] <= highest)) highest = row[i];
      }
      out.push_back(highest);
    }
    return out;
  };
  for (std::vector<double>& row : chart.cells) row = joined(row);
  std::vector<std::string> names;
  for (std::size_t c = 0; c < most && !chart.x_names.empty(); ++c) {
    const std::size_t first = c * columns / most;
    names.push_back(first < chart.x_names.size() ? chart.x_names[first] : "");
  }
  chart.x_names = std::move(names);
}

template <class Part>
void cut(std::vector<Part>& parts, std::size_t most, const char* name, std::string& note) {
  if (parts.size() <= most) return;
  if (!note.empty()) note += ' ';
  note += fmt::format("The first {} of {} {} are drawn.", most, format_count(parts.size()), name);
  parts.resize(most);
}

}  // namespace

Thinned thinned(const Chart& chart, std::size_t most) {
  Thinned out;
  out.chart = chart;
  cut(out.chart.series, 24, "series", out.note);
  cut(out.chart.bars, 60, "bars", out.note);
  cut(out.chart.stacks, 60, "bars", out.note);
  cut(out.chart.cells, 60, "rows", out.note);
  if (chart.kind == ChartKind::kHeatmap) {
    std::size_t columns = 0;
    for (const std::vector<double>& row : chart.cells) columns = std::max(columns, row.size());
    if (columns <= most) return out;
    join_columns(out.chart, columns, most);
    if (!out.note.empty()) out.note += ' ';
    out.note += fmt::format("Of {} columns neighbours are joined to {}; each shows the highest.",
                            format_count(columns), format_count(most));
    return out;
  }
  const std::size_t points = points_of(out.chart);
  thin_series(out.chart, most);
  const std::size_t shown = points_of(out.chart);
  if (shown < points) {
    if (!out.note.empty()) out.note += ' ';
    out.note +=
        fmt::format("Of {} points {} are drawn: the highest and the lowest of every stretch.",
                    format_count(points), format_count(shown));
  }
  return out;
}

}  // namespace spillway
