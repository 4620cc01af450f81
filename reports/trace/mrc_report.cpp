// The report of hits by capacity, from the results of an `mrc` document.
#include <fmt/format.h>

#include <algorithm>

#include "reports/document_fault.hpp"
#include "reports/format.hpp"
#include "reports/provenance.hpp"
#include "reports/sections.hpp"
#include "reports/trace/trace_report.hpp"

namespace spillway {

namespace {

using nlohmann::json;

std::uint64_t capacity_of(const json& point) {
  return point.at("capacity_blocks");
}

/// 1, 2 or 5 times a power of ten.
bool is_round(std::uint64_t capacity) {
  while (capacity >= 10 && capacity % 10 == 0) capacity /= 10;
  return capacity == 1 || capacity == 2 || capacity == 5;
}

/// The whole curve, or from just before the first hit to just behind the last.
Chart curve_chart(const json& r, bool whole) {
  Chart chart;
  chart.title = "Hit ratio of LRU by capacity";
  chart.x_label = "capacity (blocks)";
  chart.y_label = "hit ratio";
  chart.log_x = true;
  ChartSeries series{"LRU", {}, {}};
  const double top = r.at("infinite_hit_ratio");
  for (const json& point : r.at("curve")) {
    const double ratio = point.at("hit_ratio");
    if (!whole && ratio <= 0) continue;
    series.x.push_back(point.at("capacity_blocks"));
    series.y.push_back(ratio);
    if (!whole && ratio >= top) break;
  }
  if (series.x.empty()) return chart;
  chart.series.push_back(std::move(series));
  chart.limits.emplace_back("infinite cache", top);
  return chart;
}

Table figures_table(const json& r) {
  Table table;
  table.header = {"figure", "value"};
  const bool sampled = r.contains("sampled");
  const auto count = [](const json& value) { return format_count(whole<std::uint64_t>(value)); };
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
  chart.charts = {curve_chart(r, false)};
  report.sections = {std::move(chart), tables_section(r, p)};
  return report;
}

Report mrc_report(const json& r, const Provenance& p) {
  Report report = base_report(r, p);
  Section section = tables_section(r, p);
  Chart chart = curve_chart(r, true);
  if (!chart.series.empty()) section.charts.push_back(std::move(chart));
  report.sections = {std::move(section), provenance_section(p)};
  return report;
}

}  // namespace spillway
