// Charts of a replay: a line for each policy, the best that any could reach, hits by tier.
#include "reports/provenance.hpp"
#include "reports/trace/trace_report.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

/// 200 references, of which a replay found `hits`.
json row(const char* policy, json capacity, int hits) {
  return {{"policy", policy},          {"capacity_blocks", std::move(capacity)},
          {"semantics", "block"},      {"references", 200},
          {"unique_blocks", 50},       {"hits", hits},
          {"hit_ratio", hits / 200.0}, {"evictions", 7}};
}

Report report_of_rows(const json& rows) {
  Provenance provenance = sample_provenance();
  provenance.inputs["touch_order"] = "rev";
  provenance.inputs["atomic"] = "blocks";
  return replay_report(rows, provenance);
}

TEST_CASE("a replay's chart has a line for each policy, by capacity", "[reports]") {
  const Report report =
      report_of_rows({row("lru", 20, 80), row("lru", 10, 40), row("fifo", 10, 30)});
  const Section& answer = report.sections.at(0);
  REQUIRE(answer.charts.size() == 1);
  const Chart& chart = answer.charts[0];
  REQUIRE(chart.series.size() == 2);
  CHECK(chart.series[0].name == "lru");
  CHECK(chart.series[0].x == std::vector<double>{10, 20});
  CHECK(chart.series[0].y == std::vector<double>{20, 40});  // percent
  CHECK(chart.series[1].y == std::vector<double>{15});
  CHECK(chart.limits.empty());
  CHECK(answer.facts.at(0).detail == "policy lru, capacity 20 blocks");
}

TEST_CASE("bounds draw the best possible line and the unlimited cache", "[reports]") {
  json bounded = row("lru", 10, 40);
  bounded["gap"] = {{"policy", 20}, {"capacity", 60}};
  const Chart chart = report_of_rows(json::array({bounded})).sections.at(0).charts.at(0);
  REQUIRE(chart.series.size() == 2);
  CHECK(chart.series[1].name == "best possible (offline)");
  CHECK(chart.series[1].y == std::vector<double>{30});
  REQUIRE(chart.limits.size() == 1);
  CHECK(chart.limits[0].second == 60);
  CHECK_FALSE(chart.note.empty());
}

TEST_CASE("hits by tier are stacked in percent of the references", "[reports]") {
  json tiered = row("lru", 30, 100);
  const auto tier = [](const char* name, int hits) {
    return json{{"policy", "lru"}, {"name", name},   {"capacity_blocks", 15}, {"hits", hits},
                {"evictions", 1},  {"blocks_in", 2}, {"blocks_out", 3}};
  };
  tiered["tiers"] = {tier("hbm", 60), tier("dram", 40)};
  const Section answer = report_of_rows(json::array({tiered})).sections.at(0);
  REQUIRE(answer.charts.size() == 2);
  const Chart& chart = answer.charts[1];
  CHECK(chart.kind == ChartKind::kStacks);
  CHECK(chart.part_names == std::vector<std::string>{"hbm", "dram"});
  REQUIRE(chart.stacks.size() == 1);
  CHECK(chart.stacks[0].parts == std::vector<double>{30, 20});
}

TEST_CASE("a replay without a limit has no chart of capacities", "[reports]") {
  const Section answer = report_of_rows(json::array({row("lru", "inf", 150)})).sections.at(0);
  CHECK(answer.charts.empty());
  CHECK(answer.facts.at(0).value == "75.0% of references");
}

}  // namespace
}  // namespace spillway::test
