// Charts of traffic: when requests arrive, by minutes, hours or days, whatever the trace's length.
#include <cmath>

#include "reports/trace/trace_parts.hpp"
#include "reports/trace/trace_report.hpp"
#include "tests/reports/plan/told_plan.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

/// One request a minute, and ten in the first minute of each hour.
json stats_over(double span_s, double interval_s) {
  json stats = sample_stats();
  json counts = json::array();
  for (double at = 0; at < span_s; at += interval_s) {
    const bool first = std::fmod(at, 3600) < 60;
    counts.push_back(static_cast<std::uint64_t>(interval_s / 60) + (first ? 9 : 0));
  }
  stats["span_s"] = span_s;
  stats["arrivals"]["interval_s"] = interval_s;
  stats["arrivals"]["requests_per_interval"] = counts;
  return stats;
}

TEST_CASE("ten hours are hours by five minutes", "[reports]") {
  const Chart map = rate_heatmap(stats_over(36000, 60));
  CHECK(map.x_names.size() == 12);
  REQUIRE(map.cells.size() >= 10);
  CHECK(map.cells[0][0] == Approx((10 + 4) / 5.0));
  CHECK(map.cells[9][1] == Approx(1));
  CHECK(map.y_names[0] == "hour 1");
}

TEST_CASE("a week is days by hours", "[reports]") {
  const Chart map = rate_heatmap(stats_over(7 * 86400, 600));
  CHECK(map.x_names.size() == 24);
  REQUIRE(map.cells.size() >= 7);
  CHECK(map.y_names[6] == "day 7");
  CHECK(map.cells[6][23] == Approx(69.0 / 60));
}

TEST_CASE("intervals longer than an hour get columns as long as they", "[reports]") {
  const Chart map = rate_heatmap(stats_over(30 * 86400, 7200));
  CHECK(map.x_names.size() == 12);
  for (std::size_t day = 0; day < 30; ++day) {
    for (const double rate : map.cells[day]) CHECK(std::isfinite(rate));
  }
}

TEST_CASE("a year has at most 31 rows", "[reports]") {
  const Chart map = rate_heatmap(stats_over(365 * 86400.0, 86400));
  CHECK(map.cells.size() <= 31);
  CHECK(map.y_names[0] == "days 1-12");
}

TEST_CASE("a trace too short for a map has none", "[reports]") {
  CHECK(rate_heatmap(stats_over(120, 60)).cells.empty());
  CHECK(rate_heatmap(stats_over(0, 60)).cells.empty());
}

TEST_CASE("a span that does not go with its intervals draws nothing", "[reports]") {
  json stats = stats_over(36000, 60);
  stats["span_s"] = 1e18;
  CHECK(rate_heatmap(stats).cells.size() <= 31);
  stats["span_s"] = -5.0;
  CHECK(rate_heatmap(stats).cells.empty());
}

TEST_CASE("the report of a trace has pages, and every chart says what to see", "[reports]") {
  const Report report = trace_report(sample_stats(), told_provenance());
  std::size_t charts = 0;
  for (const Section& section : report.sections) {
    CHECK_FALSE(section.id.empty());
    CHECK_FALSE(section.heading.empty());
    for (const Chart& chart : section.charts) {
      ++charts;
      CHECK_FALSE(chart.note.empty());
    }
  }
  CHECK(charts == 5);
  const Report summary = trace_summary(sample_stats(), told_provenance());
  for (const Section& section : summary.sections) CHECK(section.charts.empty());
}

TEST_CASE("the working set is in GiB where a block's bytes are known", "[reports]") {
  const Chart blocks = working_set_chart(sample_stats(), 0);
  CHECK(blocks.series[0].y == std::vector<double>{60, 80});
  const Chart bytes = working_set_chart(sample_stats(), 64.0 * 1024 * 1024);
  CHECK(bytes.series[0].y == std::vector<double>{3.75, 5});
  CHECK(bytes.y_label == "GiB of KV");
}

}  // namespace
}  // namespace spillway::test
