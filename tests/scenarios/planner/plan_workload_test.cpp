// What a plan tells of its traffic: what trace stats tells, cut to what a drawing needs.
#include "scenarios/planner/plan_workload.hpp"

#include <nlohmann/json.hpp>

#include "reports/fields/write.hpp"
#include "scenarios/scenario/trace_stats_fields.hpp"
#include "sim/digest.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "traces/stats/trace_stats.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

TEST_CASE("a plan's workload is what trace stats says, with bytes for its blocks",
          "[scenarios][planner]") {
  const Workload workload = repeating(50, 6, 1000, 1);
  const PlanWorkload told = plan_workload(reference_with({}), workload).value();
  TraceStats stats = trace_stats(workload);
  stats.content_hash = hex16(workload.requests_hash());
  CHECK(json::parse(told.stats) == json::parse(to_document(stats).dump()));
  // 512 tokens of 131,072 bytes.
  CHECK(told.kv_bytes_per_block == 512.0 * 131072);
  CHECK(told.tenants == 0);
}

TEST_CASE("long lists are cut: intervals are joined, the largest tenants stay",
          "[scenarios][planner]") {
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    rows.push_back({std::int64_t{i} * 60'000, 512, 1, {i % 7}, fmt::format("t{}", i % 30)});
  }
  const PlanWorkload told = plan_workload(reference_with({}), workload_of(rows, 512)).value();
  const json stats = json::parse(told.stats);
  const json& arrivals = stats.at("arrivals");
  CHECK(arrivals.at("requests_per_interval").size() == 334);  // of three minutes each
  CHECK(arrivals.at("interval_s") == 180);
  std::uint64_t sum = 0;
  for (const json& count : arrivals.at("requests_per_interval")) sum += count.get<std::uint64_t>();
  CHECK(sum == 1000);
  CHECK(told.tenants == 30);
  CHECK(stats.at("tenants").size() == 20);
}

TEST_CASE("a tenant whose name is no UTF-8 does not stop a plan", "[scenarios][planner]") {
  const Workload workload = workload_of({{0, 512, 1, {1}, "\xff<b>"}, {1, 512, 1, {2}, "b"}}, 512);
  const PlanWorkload told = plan_workload(reference_with({}), workload).value();
  CHECK(json::parse(told.stats).at("tenants").size() == 2);
}

}  // namespace
}  // namespace spillway::test
