// Heatmaps of a machine's profile: what was measured stands in its cell, what was not stays empty.
#include "reports/profile/profile_report.hpp"

#include <algorithm>
#include <cmath>

#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

/// `n` copies of `bytes` up, in `us`.
json copy_cell(std::int64_t bytes, std::int64_t n, double us) {
  return {{"dir", "h2d"},   {"api", "async"}, {"mem", "pinned"},         {"pattern", "strided"},
          {"bytes", bytes}, {"n", n},         {"time", {{"med_us", us}}}};
}

json read_cell(std::int64_t bytes, int depth, double gbs) {
  return {{"op", "read"}, {"bytes", bytes}, {"qd", depth}, {"gbs", gbs}};
}

json profile_with(json copies, json storage) {
  return {{"name", "m"},
          {"machine", json::object()},
          {"copy", std::move(copies)},
          {"storage", std::move(storage)}};
}

std::vector<Chart> heatmaps(const json& profile) {
  std::vector<Chart> out;
  for (const Section& section : profile_report(profile, sample_provenance()).sections) {
    std::copy_if(section.charts.begin(), section.charts.end(), std::back_inserter(out),
                 [](const Chart& chart) { return chart.kind == ChartKind::kHeatmap; });
  }
  return out;
}

TEST_CASE("copies are a map of rates: sizes upwards, counts to the right", "[reports]") {
  // 4 KiB: 4.096 GB/s alone and twice that in pairs; 8 KiB in pairs was not measured.
  const json copies = {copy_cell(4096, 1, 1), copy_cell(4096, 2, 1), copy_cell(8192, 1, 1)};
  const std::vector<Chart> maps = heatmaps(profile_with(copies, json::array()));
  REQUIRE(maps.size() == 1);
  const Chart& map = maps[0];
  CHECK(map.unit == "GB/s");
  CHECK(map.x_names == std::vector<std::string>{"1", "2"});
  CHECK(map.y_names == std::vector<std::string>{"8 KiB", "4 KiB"});
  REQUIRE(map.cells.size() == 2);
  CHECK(map.cells[1] == std::vector<double>{4.096, 8.192});
  CHECK(map.cells[0][0] == 8.192);
  CHECK(std::isnan(map.cells[0][1]));
  CHECK_THAT(map.note, ContainsSubstring("8.19 GB/s"));
}

TEST_CASE("copies of one count are a line and no map", "[reports]") {
  CHECK(heatmaps(profile_with({copy_cell(4096, 1, 1), copy_cell(8192, 1, 1)}, json::array()))
            .empty());
  json invalid = copy_cell(8192, 2, 1);
  invalid["state"] = {{"valid", false}};
  CHECK(heatmaps(profile_with({copy_cell(4096, 1, 1), invalid}, json::array())).empty());
}

TEST_CASE("storage is a map of rates: sizes upwards, depth to the right", "[reports]") {
  const json storage = {read_cell(4096, 1, 0.1), read_cell(4096, 16, 1.5),
                        read_cell(1 << 20, 16, 6.5)};
  const std::vector<Chart> maps = heatmaps(profile_with(json::array(), storage));
  REQUIRE(maps.size() == 1);
  CHECK(maps[0].title == "Storage read: rate by size and depth");
  CHECK(maps[0].x_names == std::vector<std::string>{"1", "16"});
  CHECK(maps[0].y_names == std::vector<std::string>{"1 MiB", "4 KiB"});
  CHECK(maps[0].cells[1] == std::vector<double>{0.1, 1.5});
  CHECK(std::isnan(maps[0].cells[0][0]));
  CHECK(maps[0].cells[0][1] == 6.5);
}

}  // namespace
}  // namespace spillway::test
