// A hardware profile for people: warnings first, then rates by size, count, threads and depth, and
// how well the fits predict what they have not seen. Straight from the results of its document.
#include "reports/profile/profile_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "reports/format.hpp"
#include "reports/sections.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr std::size_t kMostTables = 8;  ///< of size by count
constexpr std::size_t kMostSeries = 8;  ///< of one chart

std::string text_of(const json& row, const char* key) {
  return row.value(key, "");
}
std::int64_t whole_of(const json& row, const char* key) {
  return row.value(key, std::int64_t{0});
}
bool is_valid(const json& row) {
  return !row.contains("state") || row.at("state").value("valid", true);
}
const json& rows_of(const json& r, const char* key) {
  static const json none = json::array();
  const auto it = r.find(key);
  return it == r.end() ? none : *it;
}
const json& compute_rows(const json& r, const char* key) {
  static const json none = json::object();
  return rows_of(r.contains("compute") ? r.at("compute") : none, key);
}

/// "4 KiB", "64 MiB": sizes of a sweep are round.
std::string size_text(std::int64_t bytes) {
  const std::string text = format_bytes(static_cast<double>(bytes));
  const std::size_t zeros = text.find(".00 ");
  return zeros == std::string::npos ? text : text.substr(0, zeros) + text.substr(zeros + 3);
}
std::string rate_text(double gbs) {
  return gbs < 10 ? fmt::format("{:.2f}", gbs) : fmt::format("{:.1f}", gbs);
}
std::string percent_text(double percent) {
  return fmt::format("{:.1f}%", percent);
}

Chart size_chart(std::string title, std::string x_label) {
  Chart chart;
  chart.title = std::move(title);
  chart.x_label = std::move(x_label);
  chart.y_label = "GB/s";
  chart.log_x = true;
  chart.points = true;
  return chart;
}

ChartSeries series_of(std::string name, const std::map<double, double>& points) {
  ChartSeries out{std::move(name), {}, {}};
  for (const auto& [x, y] : points) {
    out.x.push_back(x);
    out.y.push_back(y);
  }
  return out;
}

Section machine_section(const json& r, const Provenance& p) {
  Section section;
  section.heading = "Warnings and machine";
  for (const std::string& warning : p.warnings) section.paragraphs.push_back(warning);
  if (p.warnings.empty()) section.paragraphs.emplace_back("No warnings.");
  const json& m = r.at("machine");
  Table table;
  table.title = "Machine";
  table.header = {"fact", "value"};
  const auto row = [&](const char* name, const std::string& value) {
    if (!value.empty()) table.rows.push_back({name, value});
  };
  row("processor", text_of(m, "cpu"));
  if (whole_of(m, "cores") > 0) row("cores", format_count(m.at("cores")));
  if (whole_of(m, "memory_bytes") > 0) row("memory", size_text(whole_of(m, "memory_bytes")));
  row("NUMA nodes", rows_of(m, "numa").empty() ? "" : std::to_string(m.at("numa").size()));
  for (const json& gpu : rows_of(m, "gpus")) {
    std::string link;
    if (whole_of(gpu, "link_gen") > 0) {
      link = fmt::format(", link generation {} of {}, {} of {} lanes", whole_of(gpu, "link_gen"),
                         whole_of(gpu, "link_gen_max"), whole_of(gpu, "link_width"),
                         whole_of(gpu, "link_width_max"));
    }
    row("GPU", text_of(gpu, "name") + link);
  }
  row("driver", text_of(m, "driver"));
  row("system", text_of(m, "os"));
  row("kernel", text_of(m, "kernel"));
  row("virtualization", text_of(m, "virtualization"));
  row("IOMMU", text_of(m, "iommu"));
  row("storage", text_of(m, "storage"));
  row("machine hash", text_of(r, "machine_hash"));
  row("measured", text_of(r, "created"));
  row("command", text_of(r, "command"));
  row("time", fmt::format("{} s of {} s{}", format_real(r.value("spent_s", 0.0)),
                          format_real(r.value("budget_s", 0.0)),
                          r.value("complete", true) ? "" : ", ended early"));
  section.tables.push_back(std::move(table));
  return section;
}

/// Copies of one direction, method, memory and pattern: rates by size, by count.
struct Copies {
  std::map<std::int64_t, std::map<std::int64_t, double>> by_count;
};

std::map<std::string, Copies> copies_of(const json& r, const std::string& dir) {
  std::map<std::string, Copies> out;
  for (const json& cell : rows_of(r, "copy")) {
    if (!is_valid(cell) || text_of(cell, "dir") != dir || whole_of(cell, "gpu") != 0) continue;
    if (cell.value("stream_count", 1) > 1) continue;
    const double us = cell.at("time").value("med_us", 0.0);
    if (us <= 0) continue;
    const std::string name =
        fmt::format("{} {} {}{}", text_of(cell, "api"), text_of(cell, "mem"),
                    text_of(cell, "pattern"), cell.value("gated", true) ? "" : ", ungated");
    const auto bytes = whole_of(cell, "bytes");
    const auto n = whole_of(cell, "n");
    out[name].by_count[n][bytes] = static_cast<double>(bytes) * static_cast<double>(n) / us * 1e-3;
  }
  return out;
}

/// The count that most sizes were measured with; of several the largest.
std::int64_t fullest(const Copies& copies) {
  std::int64_t best = 0;
  std::size_t most = 0;
  for (const auto& [n, rates] : copies.by_count) {
    if (rates.size() < most) continue;
    most = rates.size();
    best = n;
  }
  return best;
}

std::map<double, double> points_of(const std::map<std::int64_t, double>& rates) {
  std::map<double, double> out;
  for (const auto& [bytes, gbs] : rates) out[static_cast<double>(bytes)] = gbs;
  return out;
}

Table heat_table(const std::string& title, const Copies& copies) {
  std::set<std::int64_t> sizes;
  Table table;
  table.title = title;
  table.header = {"size"};
  for (const auto& [n, rates] : copies.by_count) {
    table.header.push_back("x " + format_count(static_cast<std::uint64_t>(n)));
    for (const auto& [bytes, gbs] : rates) sizes.insert(bytes);
  }
  for (const std::int64_t bytes : sizes) {
    std::vector<std::string> row = {size_text(bytes)};
    for (const auto& [n, rates] : copies.by_count) {
      const auto it = rates.find(bytes);
      row.push_back(it == rates.end() ? "" : rate_text(it->second));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// The same as a chart: small copies at the bottom, many of them to the right.
Chart heat_chart(const std::string& title, const Copies& copies) {
  Chart chart;
  chart.kind = ChartKind::kHeatmap;
  chart.title = title;
  chart.x_label = "copies submitted together";
  chart.y_label = "size of one copy";
  chart.unit = "GB/s";
  std::set<std::int64_t> sizes;
  for (const auto& [n, rates] : copies.by_count) {
    chart.x_names.push_back(format_count(static_cast<std::uint64_t>(n)));
    for (const auto& [bytes, gbs] : rates) sizes.insert(bytes);
  }
  double best = 0;
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    chart.y_names.push_back(size_text(*size));
    std::vector<double> row;
    for (const auto& [n, rates] : copies.by_count) {
      const auto it = rates.find(*size);
      row.push_back(it == rates.end() ? std::numeric_limits<double>::quiet_NaN() : it->second);
      if (it != rates.end()) best = std::max(best, it->second);
    }
    chart.cells.push_back(std::move(row));
  }
  chart.note = fmt::format("The fastest cell reaches {} GB/s; empty cells were not measured.",
                           rate_text(best));
  return chart;
}

Section copy_section(const json& r) {
  Section section;
  section.heading = "Copies between host and GPU";
  for (const std::string dir : {"h2d", "d2h"}) {
    const std::map<std::string, Copies> all = copies_of(r, dir);
    if (all.empty()) continue;
    Chart chart = size_chart(dir == "h2d" ? "Host to GPU" : "GPU to host", "bytes of one copy");
    for (const auto& [name, copies] : all) {
      if (chart.series.size() >= kMostSeries) break;
      const std::int64_t n = fullest(copies);
      chart.series.push_back(
          series_of(fmt::format("{} x {}", name, n), points_of(copies.by_count.at(n))));
    }
    // The sizes that the fit of the first method was scored on: from the second on every third.
    const Copies& first = all.begin()->second;
    std::map<double, double> held;
    std::size_t i = 0;
    const auto& rates = first.by_count.at(fullest(first));
    for (const auto& [bytes, gbs] : rates) {
      if (i % 3 == 1 && i + 1 < rates.size()) held[static_cast<double>(bytes)] = gbs;
      ++i;
    }
    if (!held.empty() && chart.series.size() < kMostSeries) {
      chart.series.push_back(series_of("sizes held out of the first one's fit", held));
    }
    section.charts.push_back(std::move(chart));
    for (const auto& [name, copies] : all) {
      if (section.tables.size() >= kMostTables) break;
      // One count or one size is a line, which the chart above shows.
      const bool plane = copies.by_count.size() > 1 && copies.by_count.begin()->second.size() > 1;
      if (plane) {
        section.charts.push_back(
            heat_chart(fmt::format("{} {}: rate by size and number of copies", dir, name), copies));
      }
      section.tables.push_back(heat_table(
          fmt::format("{} {}: GB/s by size and copies submitted together", dir, name), copies));
    }
  }
  return section;
}

Table contention_table(const json& r) {
  Table table;
  table.title = "At once: GB/s alone and together";
  table.header = {"kind", "copies", "alone", "together", "share kept"};
  for (const json& cell : rows_of(r, "contention")) {
    if (!is_valid(cell)) continue;
    for (const json& actor : cell.at("actors")) {
      const double alone = actor.at("alone_gbs");
      const double together = actor.at("together_gbs");
      table.rows.push_back(
          {text_of(cell, "kind"),
           fmt::format("gpu {} {}, {} x {}", whole_of(actor, "gpu"), text_of(actor, "dir"),
                       size_text(whole_of(actor, "bytes")), whole_of(actor, "n")),
           rate_text(alone), rate_text(together),
           alone > 0 ? format_percent(together / alone) : ""});
    }
  }
  return table;
}

Table interference_table(const json& r) {
  Table table;
  table.title = "Beside a kernel: times as long as alone";
  table.header = {"kernel", "copy", "the copy", "the kernel"};
  for (const json& cell : rows_of(r, "interference")) {
    if (!is_valid(cell)) continue;
    table.rows.push_back({text_of(cell, "kernel"),
                          fmt::format("{} {}, {} x {}", text_of(cell, "dir"), text_of(cell, "api"),
                                      size_text(whole_of(cell, "bytes")), whole_of(cell, "n")),
                          fmt::format("{:.2f}", cell.value("copy_factor", 1.0)),
                          fmt::format("{:.2f}", cell.value("kernel_factor", 1.0))});
  }
  return table;
}

Section memory_section(const json& r) {
  Section section;
  section.heading = "Memory";
  std::map<std::string, std::map<double, double>> by_threads;
  for (const json& cell : rows_of(r, "dram")) {
    if (!is_valid(cell)) continue;
    double& gbs = by_threads[fmt::format("{}, node {}", text_of(cell, "op"),
                                         whole_of(cell, "numa"))][cell.value("threads", 1.0)];
    gbs = std::max(gbs, cell.value("gbs", 0.0));
  }
  if (!by_threads.empty()) {
    Chart chart = size_chart("DRAM by threads", "threads");
    Table table;
    table.title = "DRAM";
    table.header = {"operation", "threads", "GB/s"};
    for (const auto& [name, points] : by_threads) {
      if (chart.series.size() < kMostSeries) chart.series.push_back(series_of(name, points));
      for (const auto& [threads, gbs] : points) {
        table.rows.push_back({name, fmt::format("{}", threads), rate_text(gbs)});
      }
    }
    section.charts.push_back(std::move(chart));
    section.tables.push_back(std::move(table));
  }
  Table registration;
  registration.title = "Making memory usable for copies";
  registration.header = {"method", "page", "size", "seconds"};
  for (const json& cell : rows_of(r, "registration")) {
    if (!is_valid(cell)) continue;
    registration.rows.push_back({text_of(cell, "method"), size_text(whole_of(cell, "page_bytes")),
                                 size_text(whole_of(cell, "bytes")),
                                 format_real(cell.value("seconds", 0.0))});
  }
  if (!registration.rows.empty()) section.tables.push_back(std::move(registration));
  Table hbm;
  hbm.title = "GPU memory";
  hbm.header = {"gpu", "operation", "size", "GB/s"};
  for (const json& cell : compute_rows(r, "hbm")) {
    if (!is_valid(cell)) continue;
    hbm.rows.push_back({std::to_string(whole_of(cell, "gpu")), text_of(cell, "op"),
                        size_text(whole_of(cell, "bytes")), rate_text(cell.value("gbs", 0.0))});
  }
  if (!hbm.rows.empty()) section.tables.push_back(std::move(hbm));
  return section;
}

/// GB/s of a storage operation by size and operations in flight.
using RateByDepth = std::map<std::int64_t, std::map<double, double>>;

Chart depth_heatmap(const std::string& op, const RateByDepth& by_size) {
  Chart chart;
  chart.kind = ChartKind::kHeatmap;
  chart.title = fmt::format("Storage {}: rate by size and depth", op);
  chart.x_label = "operations in flight";
  chart.y_label = "size of one operation";
  chart.unit = "GB/s";
  std::set<double> depths;
  for (const auto& [bytes, points] : by_size) {
    for (const auto& [depth, gbs] : points) depths.insert(depth);
  }
  for (const double depth : depths) chart.x_names.push_back(fmt::format("{:g}", depth));
  double best = 0;
  for (auto row = by_size.rbegin(); row != by_size.rend(); ++row) {
    chart.y_names.push_back(size_text(row->first));
    std::vector<double> cells;
    for (const double depth : depths) {
      const auto it = row->second.find(depth);
      const bool measured = it != row->second.end();
      cells.push_back(measured ? it->second : std::numeric_limits<double>::quiet_NaN());
      if (measured) best = std::max(best, it->second);
    }
    chart.cells.push_back(std::move(cells));
  }
  chart.note = fmt::format("The fastest cell reaches {} GB/s; empty cells were not measured.",
                           rate_text(best));
  return chart;
}

Section storage_section(const json& r) {
  Section section;
  section.heading = "Storage";
  Table latency;
  latency.title = "One operation at a time: microseconds";
  latency.header = {"operation", "size", "p50", "p90", "p99", "p99.9"};
  std::map<std::string, std::map<std::int64_t, std::map<double, double>>> by_depth;
  std::map<double, double> sustained;
  for (const json& cell : rows_of(r, "storage")) {
    if (!is_valid(cell)) continue;
    const double gbs = cell.value("gbs", 0.0);
    if (text_of(cell, "op") == "sustained_write") {
      sustained[static_cast<double>(whole_of(cell, "after_bytes"))] = gbs;
      continue;
    }
    std::string op = text_of(cell, "op");
    if (!cell.value("direct", true)) {
      op += op == "read" && !cell.value("cold", true) ? ", cached" : ", buffered";
    }
    const double depth = cell.value("qd", 1.0) * cell.value("jobs", 1.0);
    double& best = by_depth[op][whole_of(cell, "bytes")][depth];
    best = std::max(best, gbs);
    if (depth > 1) continue;
    const auto us = [&](const char* key) { return format_real(cell.value(key, 0.0)); };
    latency.rows.push_back({op, size_text(whole_of(cell, "bytes")), us("lat_p50_us"),
                            us("lat_p90_us"), us("lat_p99_us"), us("lat_p999_us")});
  }
  for (const auto& [op, by_size] : by_depth) {
    if (by_size.size() > 1) section.charts.push_back(depth_heatmap(op, by_size));
    Chart chart = size_chart("Storage " + op, "operations in flight");
    for (const auto& [bytes, points] : by_size) {
      if (chart.series.size() < kMostSeries) {
        chart.series.push_back(series_of(size_text(bytes), points));
      }
    }
    section.charts.push_back(std::move(chart));
  }
  if (!sustained.empty()) {
    Chart chart = size_chart("Sustained writes", "bytes written before");
    chart.log_x = false;
    chart.series.push_back(series_of("write", sustained));
    section.charts.push_back(std::move(chart));
  }
  if (!latency.rows.empty()) section.tables.push_back(std::move(latency));
  return section;
}

Table fit_table(const json& r) {
  Table table;
  table.title = "Fits";
  table.header = {"what",     "form",   "parameters", "cells", "mean error",
                  "held out", "median", "p95",        "worst"};
  for (const json& fit : rows_of(r, "fits")) {
    std::vector<std::string> params;
    const json values = fit.value("params", json::object());
    for (const auto& item : values.items()) {
      params.push_back(fmt::format("{} {:.4g}", item.key(), item.value().get<double>()));
    }
    const auto held = whole_of(fit, "held_out");
    const auto score = [&](const char* key) {
      return held > 0 ? percent_text(fit.value(key, 0.0)) : "";
    };
    table.rows.push_back(
        {text_of(fit, "target"), text_of(fit, "form"), fmt::format("{}", fmt::join(params, ", ")),
         std::to_string(whole_of(fit, "cells")), percent_text(fit.value("mape", 0.0)),
         held > 0 ? std::to_string(held) : "", score("held_out_median"), score("held_out_p95"),
         percent_text(fit.value("max_err", 0.0))});
  }
  return table;
}

bool is_empty(const Section& section) {
  return section.tables.empty() && section.charts.empty();
}

}  // namespace

Report profile_report(const json& r, const Provenance& p) {
  Report report;
  const std::string name = text_of(r, "name");
  report.title = "Hardware profile" + (name.empty() ? "" : " " + name);
  std::size_t cells = 0;
  for (const char* key :
       {"copy", "contention", "interference", "dram", "registration", "storage"}) {
    cells += rows_of(r, key).size();
  }
  for (const char* key : {"hbm", "gemm", "attention"}) cells += compute_rows(r, key).size();
  report.subtitle = fmt::format("{} cells, {} fits", format_count(cells),
                                format_count(rows_of(r, "fits").size()));
  report.sections.push_back(machine_section(r, p));

  Section copies = copy_section(r);
  for (Table table : {contention_table(r), interference_table(r)}) {
    if (!table.rows.empty()) copies.tables.push_back(std::move(table));
  }
  for (Section section : {std::move(copies), memory_section(r), storage_section(r)}) {
    if (!is_empty(section)) report.sections.push_back(std::move(section));
  }
  Table fits = fit_table(r);
  if (!fits.rows.empty()) {
    Section section;
    section.heading = "Fits";
    section.paragraphs.emplace_back(
        "Errors in percent. Every third size was left out first and predicted by a fit of the "
        "others: median, p95 of these. Sizes at a step of the hardware are counted apart.");
    section.tables.push_back(std::move(fits));
    report.sections.push_back(std::move(section));
  }
  Provenance without_warnings = p;  // they stand at the top
  without_warnings.warnings.clear();
  report.sections.push_back(provenance_section(without_warnings));
  return report;
}

}  // namespace spillway
