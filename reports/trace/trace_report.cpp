// What a trace is like: the results of a `trace-stats` document, straight from its JSON.
#include "reports/trace/trace_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/sections.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr std::size_t kTenantsShown = 10;

std::string count_of(const json& value) {
  return format_count(value.get<std::uint64_t>());
}
std::string real_of(const json& value) {
  return format_real(value.get<double>());
}

Table lengths_table(const json& r) {
  Table table;
  table.title = "Lengths in tokens";
  table.header = {"of", "total", "mean", "std", "p50", "p90", "p95", "p99", "max"};
  for (const char* key : {"input", "output"}) {
    const json& l = r.at(std::string(key) + "_tokens");
    table.rows.push_back({key, count_of(l.at("total")), real_of(l.at("mean")), real_of(l.at("std")),
                          real_of(l.at("p50")), real_of(l.at("p90")), real_of(l.at("p95")),
                          real_of(l.at("p99")), count_of(l.at("max"))});
  }
  return table;
}

Table arrivals_table(const json& r) {
  const json& a = r.at("arrivals");
  Table table;
  table.title = "Arrivals";
  table.header = {"figure", "value"};
  table.rows = {{"requests/s, mean", real_of(r.at("requests_per_s"))},
                {"requests/s, busiest minute", real_of(r.at("peak_requests_per_s"))},
                {"distinct arrival times", count_of(r.at("distinct_arrival_times"))}};
  if (a.contains("gap_cv")) {
    table.rows.push_back({"gaps, std / mean (Poisson: 1)", real_of(a.at("gap_cv"))});
  }
  for (const json& d : a.at("dispersion")) {
    table.rows.push_back(
        {fmt::format("counts per {:g} s, variance / mean", d.at("window_s").get<double>()),
         real_of(d.at("index"))});
  }
  return table;
}

/// Deviations in percent of the whole; of a ratio in points.
Table drift_table(const json& stationarity) {
  Table table;
  table.title =
      fmt::format("Over time, in windows of {} s: {}", real_of(stationarity.at("window_s")),
                  stationarity.at("verdict").get<std::string>());
  table.header = {"of", "whole", "verdict", "largest deviation", "trend", "z", "noise"};
  for (const json& t : stationarity.at("tests")) {
    const std::string quantity = t.at("quantity");
    const bool ratio = quantity == "hit ratio";
    const double whole = t.at("overall");
    const double scale = ratio ? 100 : whole > 0 ? 100 / whole : 0;
    const auto share = [&](const char* key) {
      return fmt::format("{:.1f}{}", scale * t.at(key).get<double>(), ratio ? " pt" : "%");
    };
    table.rows.push_back({quantity, real_of(t.at("overall")), t.at("verdict"),
                          share("largest_deviation"), share("trend_change"),
                          fmt::format("{:.1f}", t.at("trend_z").get<double>()), share("noise")});
  }
  return table;
}

Section arrivals_section(const json& r) {
  const json& a = r.at("arrivals");
  Section section;
  section.tables = {lengths_table(r), arrivals_table(r)};
  section.paragraphs.push_back(fmt::format("Arrivals: {}; {}.", a.at("verdict").get<std::string>(),
                                           a.at("reason").get<std::string>()));
  if (a.at("binned").get<bool>()) {
    section.paragraphs.push_back(fmt::format(
        "Arrivals are binned: {} requests share {} instants, {} s apart (median); gaps and windows "
        "near that show the recording's clock.",
        count_of(r.at("requests")), count_of(r.at("distinct_arrival_times")),
        real_of(a.at("median_distance_of_times_s"))));
  }
  const json& s = r.at("stationarity");
  if (s.at("tests").empty()) {
    section.paragraphs.push_back(fmt::format("Over time: {}; {}.",
                                             s.at("verdict").get<std::string>(),
                                             s.at("reason").get<std::string>()));
  } else {
    section.tables.push_back(drift_table(s));
  }
  return section;
}

Table reuse_table(const json& r) {
  Table table;
  table.title = "Reuse";
  table.header = {"figure", "value"};
  table.rows = {{"block references", count_of(r.at("references"))},
                {"unique blocks", count_of(r.at("unique_blocks"))},
                {"blocks used once", fmt::format("{} ({})", count_of(r.at("single_use_blocks")),
                                                 format_percent(r.at("single_use_share")))},
                {"hits of an infinite cache", count_of(r.at("infinite_cache_hits"))},
                {"hit ratio of an infinite cache",
                 fmt::format("{:.4f}", r.at("infinite_cache_hit_ratio").get<double>())}};
  const json& reuse = r.at("reuse");
  if (reuse.contains("median_gap_s")) {
    const auto both = [&](const char* unit) {
      return fmt::format("{} / {}", real_of(reuse.at(fmt::format("median_{}", unit))),
                         real_of(reuse.at(fmt::format("p90_{}", unit))));
    };
    table.rows.push_back({"blocks until reuse, p50 / p90", both("distance_blocks")});
    table.rows.push_back({"seconds until reuse, p50 / p90", both("gap_s")});
  }
  const json& w = r.at("working_set");
  table.rows.push_back({fmt::format("most blocks in use in {} s", real_of(w.at("interval_s"))),
                        count_of(w.at("peak_unique_blocks"))});
  table.rows.push_back({"most blocks with reuse to come", count_of(w.at("peak_live_blocks"))});
  return table;
}

/// Every third capacity, the largest among them.
Table curve_table(const json& curve) {
  Table table;
  table.title = "Hit ratio of LRU";
  table.header = {"capacity (blocks)", "of unique blocks", "hit ratio"};
  for (std::size_t i = curve.size() < 3 ? 0 : (curve.size() - 1) % 3; i < curve.size(); i += 3) {
    const json& point = curve.at(i);
    table.rows.push_back({count_of(point.at("capacity_blocks")),
                          format_percent(point.at("share_of_unique_blocks")),
                          fmt::format("{:.4f}", point.at("hit_ratio").get<double>())});
  }
  return table;
}

Section reuse_section(const json& r) {
  Section section;
  if (r.contains("reuse")) {
    section.tables = {reuse_table(r), curve_table(r.at("reuse").at("lru_curve"))};
  } else {
    section.paragraphs.push_back("The trace names no blocks: nothing can be said about reuse.");
  }
  return section;
}

Section clients_section(const json& r) {
  Section section;
  Table turns;
  turns.title = "Sessions";
  turns.header = {"of", "count", "mean", "p50", "p90", "p99", "max"};
  const auto row = [&](const char* name, const char* key) {
    if (!r.contains(key)) return;
    const json& d = r.at(key);
    turns.rows.push_back({name, count_of(d.at("count")), real_of(d.at("mean")),
                          real_of(d.at("p50")), real_of(d.at("p90")), real_of(d.at("p99")),
                          real_of(d.at("max"))});
  };
  row("turns per session", "turns_per_session");
  row("seconds between turns", "turn_gap_s");
  row("think time (s)", "think_s");
  if (!turns.rows.empty()) section.tables.push_back(std::move(turns));
  if (r.at("with_predecessor").get<std::uint64_t>() > 0) {
    section.paragraphs.push_back(fmt::format("{} of the requests wait for another's answer.",
                                             format_percent(r.at("with_predecessor_share"))));
  }
  if (!r.contains("tenants")) return section;
  const json& tenants = r.at("tenants");
  Table table;
  table.title = fmt::format("Tenants: {}", format_count(tenants.size()));
  table.header = {"tenant", "requests", "input tokens"};
  for (std::size_t i = 0; i < std::min(kTenantsShown, tenants.size()); ++i) {
    const json& tenant = tenants.at(i);
    table.rows.push_back(
        {tenant.at("name"), count_of(tenant.at("requests")), count_of(tenant.at("input_tokens"))});
  }
  if (tenants.size() > kTenantsShown) table.title += ", the largest of them";
  section.tables.push_back(std::move(table));
  return section;
}

Section source_section(const Provenance& p, const json& r) {
  Section section;
  Table table;
  table.title = "Source";
  table.header = {"what", "value"};
  const json& trace = p.inputs.at("trace");
  table.rows.push_back({"format", trace.at("format")});
  const json& rows = trace.at("rows");
  if (rows.at("read").get<std::uint64_t>() > 0) {
    table.rows.push_back({"rows read", count_of(rows.at("read"))});
    for (const char* key : {"dropped", "quarantined", "reordered"}) {
      if (rows.at(key).get<std::uint64_t>() == 0) continue;
      table.rows.push_back({fmt::format("rows {}", key), count_of(rows.at(key))});
    }
  }
  table.rows.push_back({"tokens a block", count_of(r.at("block_tokens"))});
  table.rows.push_back({"content hash", r.at("content_hash")});
  section.tables.push_back(std::move(table));
  return section;
}

Chart chart_of(std::string title, std::string x_label, std::string y_label) {
  Chart chart;
  chart.title = std::move(title);
  chart.x_label = std::move(x_label);
  chart.y_label = std::move(y_label);
  return chart;
}

/// Values at the ends of equal intervals, from 0 on.
ChartSeries over_time(std::string name, const json& values, double interval_s, double scale = 1) {
  ChartSeries out{std::move(name), {}, {}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    out.x.push_back(static_cast<double>(i + 1) * interval_s / 60);
    out.y.push_back(values.at(i).get<double>() * scale);
  }
  return out;
}

Chart rate_chart(const json& a) {
  Chart chart = chart_of("Requests per minute", "minutes from the first arrival", "requests/min");
  const double interval_s = a.at("interval_s");
  ChartSeries series =
      over_time("requests", a.at("requests_per_interval"), interval_s, 60 / interval_s);
  if (series.x.size() > 2) {  // the end of the trace cuts the last one short
    series.x.pop_back();
    series.y.pop_back();
  }
  chart.series.push_back(std::move(series));
  return chart;
}

Chart lengths_chart(const json& r) {
  Chart chart = chart_of("Lengths", "tokens", "% of requests at most so long");
  chart.log_x = true;
  for (const char* key : {"input", "output"}) {
    const json& percentiles = r.at(std::string(key) + "_tokens").at("percentiles");
    ChartSeries series{key, {}, {}};
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
      series.x.push_back(percentiles.at(i));
      series.y.push_back(static_cast<double>(i));
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart curve_chart(const json& r) {
  Chart chart = chart_of("Hit ratio of LRU by capacity", "capacity (blocks)", "hit ratio");
  chart.log_x = true;
  chart.points = true;
  ChartSeries series{"LRU", {}, {}};
  for (const json& point : r.at("reuse").at("lru_curve")) {
    series.x.push_back(point.at("capacity_blocks"));
    series.y.push_back(point.at("hit_ratio"));
  }
  chart.series.push_back(std::move(series));
  chart.limits.emplace_back("infinite cache", r.at("infinite_cache_hit_ratio").get<double>());
  return chart;
}

Chart working_set_chart(const json& w) {
  Chart chart = chart_of("Working set", "minutes from the first arrival", "blocks");
  const double interval_s = w.at("interval_s");
  chart.series.push_back(
      over_time("distinct blocks of the interval", w.at("unique_blocks_per_interval"), interval_s));
  chart.series.push_back(
      over_time("distinct blocks since the start", w.at("cumulative_unique_blocks"), interval_s));
  return chart;
}

}  // namespace

Report trace_summary(const json& r, const Provenance& p) {
  Report report;
  report.title =
      fmt::format("{}: {} requests over {} s", p.inputs.at("trace").at("name").get<std::string>(),
                  count_of(r.at("requests")), real_of(r.at("span_s")));
  report.sections = {arrivals_section(r), reuse_section(r), clients_section(r),
                     source_section(p, r)};
  return report;
}

Report trace_report(const json& r, const Provenance& p) {
  Report report = trace_summary(r, p);
  Section charts;
  charts.heading = "Charts";
  if (r.contains("reuse")) charts.charts.push_back(curve_chart(r));
  charts.charts.push_back(rate_chart(r.at("arrivals")));
  if (r.contains("working_set")) charts.charts.push_back(working_set_chart(r.at("working_set")));
  charts.charts.push_back(lengths_chart(r));
  report.sections.push_back(std::move(charts));
  report.sections.push_back(provenance_section(p));
  return report;
}

}  // namespace spillway
