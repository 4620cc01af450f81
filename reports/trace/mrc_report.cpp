// The report of hits by capacity, from the results of an `mrc` document.
#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/sections.hpp"
#include "reports/trace/trace_report.hpp"
#include "sim/det_math.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr int kColumns = 60;
constexpr int kRows = 12;

std::uint64_t capacity_of(const json& point) {
  return point.at("capacity_blocks");
}

/// 1, 2 or 5 times a power of ten.
bool is_round(std::uint64_t capacity) {
  while (capacity >= 10 && capacity % 10 == 0) capacity /= 10;
  return capacity == 1 || capacity == 2 || capacity == 5;
}

/// Where a capacity stands between two others, by logarithm: 0 to 1.
double place(double capacity, double low, double high) {
  return (det::log2(capacity) - det::log2(low)) / (det::log2(high) - det::log2(low));
}

/// The curve for a terminal, a line each: hit ratio upwards, the logarithm of the capacity to the
/// right. Nothing where all hits come at one capacity.
std::vector<std::string> drawn(const json& curve, double top_ratio) {
  std::vector<std::pair<double, double>> points;
  for (const json& point : curve) {
    const double ratio = point.at("hit_ratio");
    points.emplace_back(capacity_of(point), ratio);
  }
  // From just before the first hit to just behind the last.
  const auto first = std::find_if(points.begin(), points.end(),
                                  [](const auto& point) { return point.second > 0; });
  const auto last = std::find_if(points.begin(), points.end(),
                                 [&](const auto& point) { return point.second >= top_ratio; });
  if (first == points.end() || last == points.end() || first->first >= last->first) return {};
  const double low = first->first;
  const double high = last->first;
  double top = 0.1;
  while (top < top_ratio && top < 1) top += 0.1;

  std::vector<std::string> grid(kRows, std::string(kColumns, ' '));
  std::size_t next = 0;
  int before = -1;
  for (int column = 0; column < kColumns; ++column) {
    const double share = static_cast<double>(column) / (kColumns - 1);
    while (next + 1 < points.size() && points[next + 1].first <= high &&
           place(points[next + 1].first, low, high) <= share) {
      ++next;
    }
    const int row = std::clamp(static_cast<int>(points[next].second / top * kRows), 0, kRows - 1);
    // A step is drawn as a column, so that the line does not break.
    for (int r = std::min(row, before < 0 ? row : before + 1); r <= row; ++r) {
      grid[static_cast<std::size_t>(kRows - 1 - r)][static_cast<std::size_t>(column)] = '*';
    }
    before = row;
  }
  std::vector<std::string> out;
  for (int r = 0; r < kRows; ++r) {
    const double ratio = top * (kRows - r) / kRows;
    out.push_back(fmt::format("{} |{}", r % 3 == 0 ? fmt::format("{:5.3f}", ratio) : "     ",
                              grid[static_cast<std::size_t>(r)]));
  }
  out.push_back("0.000 +" + std::string(kColumns, '-'));
  std::string labels(kColumns + 7, ' ');
  for (std::uint64_t decade = 1; static_cast<double>(decade) <= high; decade *= 10) {
    if (static_cast<double>(decade) < low) continue;
    const double at = place(static_cast<double>(decade), low, high) * (kColumns - 1);
    const auto column = static_cast<std::size_t>(7 + static_cast<int>(at + 0.5));
    const std::string text = format_count(decade);
    if (column > 7) out.back()[column] = '+';
    const std::size_t begin = column - std::min(column, text.size() / 2);
    if (begin > 0 && labels[begin - 1] != ' ') continue;  // no room
    if (labels.size() < begin + text.size()) labels.resize(begin + text.size(), ' ');
    if (labels.find_first_not_of(' ', begin) == std::string::npos) {
      labels.replace(begin, text.size(), text);
    }
  }
  labels.erase(labels.find_last_not_of(' ') + 1);
  out.push_back(labels);
  out.push_back("      hit ratio by capacity in blocks, logarithmic");
  return out;
}

Table figures_table(const json& r) {
  Table table;
  table.header = {"figure", "value"};
  const bool sampled = r.contains("sampled");
  const auto count = [](const json& value) { return format_count(value.get<std::uint64_t>()); };
  table.rows = {
      {"references", count(r.at("references"))},
      {sampled ? "unique blocks, estimated" : "unique blocks", count(r.at("unique_blocks"))},
      {"hits of an infinite cache", fmt::format("{} ({:.4f})", count(r.at("infinite_hits")),
                                                r.at("infinite_hit_ratio").get<double>())},
      {"capacities at which hits change", count(r.at("changes"))}};
  if (r.contains("knee")) {
    const json& knee = r.at("knee");
    table.rows.push_back(
        {"knee", fmt::format("{} blocks ({:.4f})", count(knee.at("capacity_blocks")),
                             knee.at("hit_ratio").get<double>())});
  }
  if (sampled) {
    const json& s = r.at("sampled");
    table.rows.push_back(
        {"sampled", fmt::format("{} blocks at a rate of {}, {} held", count(s.at("blocks")),
                                s.at("rate").get<double>(), count(s.at("held_blocks")))});
    table.rows.push_back({"largest error of a hit ratio (two standard errors)",
                          fmt::format("{:.4f}", s.at("error").get<double>())});
  }
  return table;
}

/// At --at's capacities, or else at round ones.
Table capacities_table(const json& r, const json& at) {
  Table table;
  table.header = {"capacity (blocks)", "hits", "hit ratio"};
  const bool sampled = r.contains("sampled");
  if (sampled) table.header.emplace_back("two standard errors");
  for (const json& point : r.at("curve")) {
    const std::uint64_t capacity = capacity_of(point);
    const bool listed = at.empty() ? is_round(capacity) || point == r.at("curve").back()
                                   : std::find(at.begin(), at.end(), capacity) != at.end();
    if (!listed) continue;
    table.rows.push_back({format_count(capacity), format_count(point.at("hits")),
                          fmt::format("{:.6f}", point.at("hit_ratio").get<double>())});
    if (sampled) {
      table.rows.back().push_back(fmt::format("{:.4f}", point.at("error").get<double>()));
    }
  }
  return table;
}

Report base_report(const json& r, const Provenance& p) {
  Report report;
  report.title = fmt::format(
      "LRU {} hits by capacity, touch order {}, {} at a time", r.at("semantics").get<std::string>(),
      p.inputs.at("touch_order").get<std::string>(), p.inputs.at("atomic").get<std::string>());
  return report;
}

Section tables_section(const json& r, const Provenance& p) {
  Section section;
  section.tables.push_back(figures_table(r));
  Table capacities = capacities_table(r, p.inputs.at("at"));
  if (!capacities.rows.empty()) section.tables.push_back(std::move(capacities));
  return section;
}

}  // namespace

Report mrc_summary(const json& r, const Provenance& p) {
  Report report = base_report(r, p);
  Section chart;
  chart.paragraphs = drawn(r.at("curve"), r.at("infinite_hit_ratio"));
  report.sections = {std::move(chart), tables_section(r, p)};
  return report;
}

Report mrc_report(const json& r, const Provenance& p) {
  Report report = base_report(r, p);
  Section section = tables_section(r, p);
  Chart chart;
  chart.title = "Hit ratio of LRU by capacity";
  chart.x_label = "capacity (blocks)";
  chart.y_label = "hit ratio";
  chart.log_x = true;
  ChartSeries series{"LRU", {}, {}};
  for (const json& point : r.at("curve")) {
    series.x.push_back(point.at("capacity_blocks"));
    series.y.push_back(point.at("hit_ratio"));
  }
  if (!series.x.empty()) {
    chart.series.push_back(std::move(series));
    chart.limits.emplace_back("infinite cache", r.at("infinite_hit_ratio").get<double>());
    section.charts.push_back(std::move(chart));
  }
  report.sections = {std::move(section), provenance_section(p)};
  return report;
}

}  // namespace spillway
