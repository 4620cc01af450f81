// The charts of trace_parts.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/document_fault.hpp"
#include "reports/format.hpp"
#include "reports/trace/trace_parts.hpp"

namespace spillway {

using nlohmann::json;

namespace {

constexpr double kMinute = 60;
constexpr double kHour = 3600;
constexpr double kDay = 86400;
constexpr std::size_t kMostRows = 31;  // of a heatmap, so that it fits a page

Chart chart_of(std::string title, std::string x_label, std::string y_label) {
  Chart chart;
  chart.title = std::move(title);
  chart.x_label = std::move(x_label);
  chart.y_label = std::move(y_label);
  return chart;
}

/// A stretch of time in seconds, for people.
std::string span_text(double seconds) {
  if (seconds >= 2 * kDay) return format_real(seconds / kDay) + " days";
  if (seconds >= 2 * kHour) return format_real(seconds / kHour) + " h";
  if (seconds >= 2 * kMinute) return format_real(seconds / kMinute) + " min";
  return format_real(seconds) + " s";
}

/// Values at the ends of equal intervals, from 0 on.
ChartSeries over_time(std::string name, const json& values, double interval_s, double scale) {
  ChartSeries out{std::move(name), {}, {}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    out.x.push_back(static_cast<double>(i + 1) * interval_s / kMinute);
    out.y.push_back(values.at(i).get<double>() * scale);
  }
  return out;
}

/// Rows and columns of a map of time.
struct TimeGrid {
  double row_s = 0;
  double column_s = 0;
  std::size_t columns = 0;
  bool days = false;
  std::size_t days_a_row = 1;
};

/// The shortest part of `whole` that is at least `least` and goes into it evenly.
double even_part(double whole, double least, double unit) {
  const auto units = static_cast<int>(whole / unit + 0.5);
  for (int parts = units; parts > 1; --parts) {
    if (units % parts == 0 && whole / parts >= least) return whole / parts;
  }
  return whole;
}

TimeGrid grid_of(double span_s, double interval_s) {
  TimeGrid out;
  if (span_s >= 2 * kDay) {
    out.days = true;
    out.row_s = kDay;
    out.column_s = even_part(kDay, std::max(kHour, interval_s), kHour);
    const auto days = static_cast<std::size_t>(std::ceil(span_s / kDay));
    out.days_a_row = (days + kMostRows - 1) / kMostRows;
  } else if (span_s >= 4 * kHour) {
    out.row_s = kHour;
    out.column_s = even_part(kHour, std::max(5 * kMinute, interval_s), kMinute);
  } else {
    out.row_s = 10 * kMinute;
    out.column_s = even_part(10 * kMinute, std::max(kMinute, interval_s), kMinute);
  }
  out.columns = static_cast<std::size_t>(out.row_s / out.column_s + 0.5);
  return out;
}

std::string row_name(const TimeGrid& grid, std::size_t row) {
  const auto from = static_cast<double>(row) * grid.row_s;
  if (!grid.days) {
    return grid.row_s >= kHour ? fmt::format("hour {}", row + 1)
                               : fmt::format("{:.0f} min", from / kMinute);
  }
  const std::size_t first = row * grid.days_a_row + 1;
  return grid.days_a_row == 1 ? fmt::format("day {}", first)
                              : fmt::format("days {}-{}", first, first + grid.days_a_row - 1);
}

std::string column_name(const TimeGrid& grid, std::size_t column) {
  const double from = static_cast<double>(column) * grid.column_s;
  return grid.days ? fmt::format("{:.0f} h", from / kHour)
                   : fmt::format("+{:.0f} min", from / kMinute);
}

}  // namespace

Chart rate_chart(const json& stats) {
  const json& a = stats.at("arrivals");
  Chart chart = chart_of("Requests per minute", "minutes from the first arrival", "requests/min");
  const double interval_s = a.at("interval_s");
  ChartSeries series =
      over_time("requests", a.at("requests_per_interval"), interval_s, kMinute / interval_s);
  if (series.x.size() > 2) {  // the end of the trace cuts the last one short
    series.x.pop_back();
    series.y.pop_back();
  }
  chart.note = fmt::format("On average {} requests a minute arrive, {} in the busiest minute.",
                           format_real(kMinute * stats.at("requests_per_s").get<double>()),
                           format_real(kMinute * stats.at("peak_requests_per_s").get<double>()));
  chart.series.push_back(std::move(series));
  return chart;
}

Chart rate_heatmap(const json& stats) {
  const json& a = stats.at("arrivals");
  const json& counts = a.at("requests_per_interval");
  const double interval_s = a.at("interval_s");
  const double span_s = stats.at("span_s");
  Chart chart = chart_of("When requests arrive", "", "");
  chart.kind = ChartKind::kHeatmap;
  chart.unit = "requests/min";
  if (counts.size() < 5 || interval_s <= 0 || span_s <= 0) return chart;  // nothing to tell apart
  const TimeGrid grid = grid_of(span_s, interval_s);
  const double row_s = grid.row_s * static_cast<double>(grid.days_a_row);
  const auto rows = static_cast<std::size_t>(std::ceil(span_s / row_s));
  if (rows > 4 * kMostRows) return chart;  // a span that does not go with the intervals
  std::vector<std::vector<double>> requests(rows, std::vector<double>(grid.columns, 0));
  std::vector<std::vector<double>> minutes = requests;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double from = static_cast<double>(i) * interval_s;
    const double length = std::min(interval_s, span_s - from);
    if (length < interval_s / 2 && i > 0) continue;  // a rest that says little
    const double middle = from + length / 2;
    const auto stretch = static_cast<std::size_t>(middle / grid.row_s);
    const std::size_t row = std::min(rows - 1, stretch / grid.days_a_row);
    const double within = middle - static_cast<double>(stretch) * grid.row_s;
    const std::size_t column =
        std::min(grid.columns - 1, static_cast<std::size_t>(within / grid.column_s));
    requests[row][column] += counts.at(i).get<double>();
    minutes[row][column] += length / kMinute;
  }
  double least = std::numeric_limits<double>::infinity();
  double most = -1;
  std::string busiest;
  for (std::size_t r = 0; r < rows; ++r) {
    chart.y_names.push_back(row_name(grid, r));
    auto& cells = chart.cells.emplace_back();
    for (std::size_t c = 0; c < grid.columns; ++c) {
      const bool known = minutes[r][c] > 0;
      const double rate = known ? requests[r][c] / minutes[r][c] : kNoPoint;
      cells.push_back(rate);
      if (!known) continue;
      least = std::min(least, rate);
      if (rate > most) {
        most = rate;
        busiest = fmt::format("{}, {}", row_name(grid, r), column_name(grid, c));
      }
    }
  }
  for (std::size_t c = 0; c < grid.columns; ++c) chart.x_names.push_back(column_name(grid, c));
  chart.x_label = grid.days ? "hours after the time of day of the first arrival" : "of the stretch";
  chart.y_label = "since the first arrival";
  chart.note = fmt::format(
      "The busiest stretch ({}) has {} requests a minute, the quietest {}; gaps are before or "
      "after "
      "the trace.",
      busiest, format_real(most), format_real(least));
  return chart;
}

Chart lengths_chart(const json& stats) {
  Chart chart = chart_of("Lengths", "tokens", "% of requests at most so long");
  chart.log_x = true;
  std::vector<std::string> says;
  for (const auto& [key, name] : {std::pair("input", "prompts"), std::pair("output", "answers")}) {
    const json& lengths = stats.at(std::string(key) + "_tokens");
    const json& percentiles = lengths.at("percentiles");
    ChartSeries series{name, {}, {}};
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
      series.x.push_back(percentiles.at(i));
      series.y.push_back(static_cast<double>(i));
    }
    chart.series.push_back(std::move(series));
    says.push_back(
        fmt::format("Half of the {} have at most {} tokens, one in a hundred more than "
                    "{}",
                    name, format_real(lengths.at("p50")), format_real(lengths.at("p99"))));
  }
  chart.note = fmt::format("{}. {}.", says[0], says[1]);
  return chart;
}

Chart curve_chart(const json& stats) {
  Chart chart = chart_of("Hit ratio of LRU by capacity", "capacity (blocks)", "hit ratio");
  if (!stats.contains("reuse")) return chart;
  chart.log_x = true;
  chart.points = true;
  ChartSeries series{"LRU", {}, {}};
  const double infinite = stats.at("infinite_cache_hit_ratio");
  std::string enough;
  for (const json& point : stats.at("reuse").at("lru_curve")) {
    series.x.push_back(point.at("capacity_blocks"));
    series.y.push_back(point.at("hit_ratio"));
    if (enough.empty() && series.y.back() >= 0.9 * infinite) {
      enough = format_count(whole<std::uint64_t>(point.at("capacity_blocks")));
    }
  }
  chart.series.push_back(std::move(series));
  chart.limits.emplace_back("infinite cache", infinite);
  chart.note = fmt::format(
      "An unbounded cache hits {} of the block references; {} blocks are enough for nine tenths of "
      "that.",
      format_percent(infinite), enough.empty() ? "more than all" : enough);
  return chart;
}

Chart working_set_chart(const json& stats, double bytes_per_block) {
  const bool bytes = bytes_per_block > 0;
  Chart chart =
      chart_of("Working set", "minutes from the first arrival", bytes ? "GiB of KV" : "blocks");
  if (!stats.contains("working_set")) return chart;
  const json& w = stats.at("working_set");
  const double interval_s = w.at("interval_s");
  const double scale = bytes ? bytes_per_block / kGiB : 1;
  chart.series.push_back(over_time(fmt::format("distinct blocks in each {}", span_text(interval_s)),
                                   w.at("unique_blocks_per_interval"), interval_s, scale));
  chart.series.push_back(over_time("distinct blocks since the start",
                                   w.at("cumulative_unique_blocks"), interval_s, scale));
  const double peak = scale * w.at("peak_unique_blocks").get<double>();
  const double live = scale * w.at("peak_live_blocks").get<double>();
  const char* unit = bytes ? "GiB" : "blocks";
  chart.note = fmt::format(
      "At most {} {} are in use within {}; a cache that knew the future would need {} {} to miss "
      "no reuse.",
      format_real(peak), unit, span_text(interval_s), format_real(live), unit);
  return chart;
}

}  // namespace spillway
