#include "reports/profile/profile_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/profile/profile_cells.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr std::size_t kMostTables = 8;  ///< of size by count
constexpr std::size_t kMostSeries = 8;  ///< of one chart

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

/// GB/s by size and by what else was varied: copies submitted together, operations in flight.
using RatePlane = std::map<std::int64_t, std::map<double, double>>;

std::set<double> columns_of(const RatePlane& plane) {
  std::set<double> out;
  for (const auto& [bytes, rates] : plane) {
    for (const auto& [x, gbs] : rates) out.insert(x);
  }
  return out;
}

/// Small sizes at the bottom; `chart` has its title and the names of its columns.
Chart rate_heatmap(Chart chart, const RatePlane& plane) {
  chart.kind = ChartKind::kHeatmap;
  chart.unit = "GB/s";
  const std::set<double> columns = columns_of(plane);
  double best = 0;
  for (auto row = plane.rbegin(); row != plane.rend(); ++row) {
    chart.y_names.push_back(size_text(row->first));
    std::vector<double> cells;
    for (const double column : columns) {
      const auto it = row->second.find(column);
      const bool measured = it != row->second.end();
      cells.push_back(measured ? it->second : kNoPoint);
      if (measured) best = std::max(best, it->second);
    }
    chart.cells.push_back(std::move(cells));
  }
  chart.note = fmt::format("The fastest cell reaches {} GB/s; empty cells were not measured.",
                           rate_text(best));
  return chart;
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

RatePlane plane_of(const Copies& copies) {
  RatePlane out;
  for (const auto& [n, rates] : copies.by_count) {
    for (const auto& [bytes, gbs] : rates) out[bytes][static_cast<double>(n)] = gbs;
  }
  return out;
}

Table copies_table(const std::string& title, const Copies& copies) {
  Table table;
  table.title = title;
  table.header = {"size"};
  for (const auto& [n, rates] : copies.by_count) {
    table.header.push_back("x " + format_count(static_cast<std::uint64_t>(n)));
  }
  const RatePlane plane = plane_of(copies);
  const std::set<double> columns = columns_of(plane);
  for (const auto& [bytes, rates] : plane) {
    std::vector<std::string> row = {size_text(bytes)};
    for (const double n : columns) {
      const auto it = rates.find(n);
      row.push_back(it == rates.end() ? "" : rate_text(it->second));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Chart copies_heatmap(const std::string& title, const Copies& copies) {
  Chart chart;
  chart.title = title;
  chart.x_label = "copies submitted together";
  chart.y_label = "size of one copy";
  for (const auto& [n, rates] : copies.by_count) {
    chart.x_names.push_back(format_count(static_cast<std::uint64_t>(n)));
  }
  return rate_heatmap(std::move(chart), plane_of(copies));
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

Chart depth_heatmap(const std::string& op, const RatePlane& by_size) {
  Chart chart;
  chart.title = fmt::format("Storage {}: rate by size and depth", op);
  chart.x_label = "operations in flight";
  chart.y_label = "size of one operation";
  for (const double depth : columns_of(by_size)) {
    chart.x_names.push_back(fmt::format("{:g}", depth));
  }
  return rate_heatmap(std::move(chart), by_size);
}

}  // namespace

Section copies_section(const json& r) {
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
        section.charts.push_back(copies_heatmap(
            fmt::format("{} {}: rate by size and number of copies", dir, name), copies));
      }
      section.tables.push_back(copies_table(
          fmt::format("{} {}: GB/s by size and copies submitted together", dir, name), copies));
    }
  }
  for (Table table : {contention_table(r), interference_table(r)}) {
    if (!table.rows.empty()) section.tables.push_back(std::move(table));
  }
  return section;
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

Section collectives_section(const json& r) {
  Section section;
  section.heading = "Collectives between GPUs";
  Table table;
  table.title = "Time of one collective (NCCL, in a CUDA graph)";
  table.header = {"operation", "ranks", "size", "us"};
  for (const json& cell : rows_of(r, "collective")) {
    if (!is_valid(cell)) continue;
    for (const json& point : rows_of(cell, "points")) {
      table.rows.push_back({text_of(cell, "op"), std::to_string(whole_of(cell, "ranks")),
                            size_text(whole_of(point, "bytes")),
                            format_real(point.value("time_us", 0.0))});
    }
  }
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
  return section;
}

Section storage_section(const json& r) {
  Section section;
  section.heading = "Storage";
  Table latency;
  latency.title = "One operation at a time: microseconds";
  latency.header = {"operation", "size", "p50", "p90", "p99", "p99.9"};
  std::map<std::string, RatePlane> by_depth;
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

Section kv_section(const json& r) {
  Section section;
  section.heading = "Key-value server";
  Table table;
  table.title = "Values by clients that each have one in flight";
  table.header = {"server", "operation", "value", "clients", "GB/s", "p50 us", "p90 us", "p99 us"};
  std::map<std::string, std::map<std::int64_t, std::map<double, double>>> rates;
  for (const json& cell : rows_of(r, "kv")) {
    if (!is_valid(cell)) continue;
    const std::int64_t bytes = whole_of(cell, "bytes");
    const std::string op = text_of(cell, "op");
    const double gbs = cell.value("gbs", 0.0);
    const auto us = [&](const char* key) { return format_real(cell.value(key, 0.0)); };
    table.rows.push_back(
        {fmt::format("{}, {}", text_of(cell, "server"), text_of(cell, "place")), op,
         bytes > 0 ? size_text(bytes) : "", std::to_string(whole_of(cell, "clients")),
         bytes > 0 ? rate_text(gbs) : "", us("lat_p50_us"), us("lat_p90_us"), us("lat_p99_us")});
    if (bytes > 0 && op != "mixed") rates[op][bytes][cell.value("clients", 1.0)] = gbs;
  }
  for (const auto& [op, by_size] : rates) {
    Chart chart = size_chart("Key-value server " + op, "clients");
    for (const auto& [bytes, points] : by_size) {
      if (chart.series.size() >= kMostSeries) break;
      chart.series.push_back(series_of(size_text(bytes), points));
    }
    section.charts.push_back(std::move(chart));
  }
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
  return section;
}

}  // namespace spillway
