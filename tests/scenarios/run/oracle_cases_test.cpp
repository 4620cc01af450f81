// Cases with per-request results of an independent implementation, to the nanosecond.
#include <fstream>
#include <map>
#include <sstream>

#include "scenarios/run/request_log.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {
namespace {

using Rows = std::vector<std::map<std::string, std::string>>;

/// A CSV file without quotes, by column.
Rows read_rows(const std::string& path) {
  std::istringstream text(read_file(path));
  const auto cells = [](const std::string& line) {
    std::vector<std::string> out(1);
    for (const char c : line) {
      if (c == ',') {
        out.emplace_back();
      } else if (c != '\r') {
        out.back() += c;
      }
    }
    return out;
  };
  std::string line;
  std::getline(text, line);
  const std::vector<std::string> head = cells(line);
  Rows rows;
  while (std::getline(text, line)) {
    const std::vector<std::string> row = cells(line);
    REQUIRE(row.size() == head.size());
    rows.emplace_back();
    for (std::size_t i = 0; i < head.size(); ++i) rows.back()[head[i]] = row[i];
  }
  return rows;
}

struct CaseRun {
  RunResult result;
  Rows rows;
  Rows expected;
  nlohmann::json totals;
};

CaseRun run_case(const std::string& name) {
  const std::string directory = material("oracle/cases/" + name).path;
  const Scenario scenario = load_scenario(JsonSource::from_file(directory + "/scenario.json"));
  const Workload workload = open_workload(scenario, {});
  RequestLog log(workload.size());
  SimulationOptions options;
  options.observers.push_back(&log);
  CaseRun out;
  out.result = simulate(scenario, workload, options).result;
  const Scratch scratch;
  log.write(scratch.path("requests.csv"), out.result.tiers);
  out.rows = read_rows(scratch.path("requests.csv"));
  out.expected = read_rows(directory + "/expected.csv");
  out.totals = nlohmann::json::parse(std::ifstream(directory + "/expected.json"));
  return out;
}

void check_rows(const CaseRun& run) {
  REQUIRE(run.rows.size() == run.expected.size());
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    INFO("row " << i);
    for (const auto& [column, value] : run.expected[i]) {
      INFO("column " << column);
      const auto cell = run.rows[i].find(column);
      CHECK((cell == run.rows[i].end() ? "0" : cell->second) == value);  // a tier that is absent
    }
    CHECK(run.rows[i].at("status") == "completed");
  }
}

void check_totals(const CaseRun& run) {
  const auto total = [&](const char* key) { return run.totals[key].get<std::uint64_t>(); };
  const RunResult& r = run.result;
  CHECK(r.completed == total("completed"));
  CHECK(r.rejected == total("rejected"));
  CHECK(r.stuck == total("stuck"));
  CHECK(r.engine_steps == total("steps"));
  CHECK(r.preemptions == total("preemptions"));
  CHECK(16 * r.tiers[0].hits == total("gpu_hit_tokens"));  // blocks of 16 tokens
  CHECK(16 * r.tiers[0].hits_resumed == total("gpu_hit_tokens_resumed"));
  CHECK(r.tiers[0].evictions == total("gpu_evictions"));
  for (const auto& [metric, stats] :
       {std::pair<const char*, const LatencyStats&>{"ttft_ms", r.ttft},
        {"tpot_ms", r.tpot},
        {"e2el_ms", r.e2el}}) {
    const std::string name = metric;
    INFO("metric: " << name);
    const auto expected = [&](const char* which) {  // given to a nanosecond, of rounded parts
      return Approx(run.totals[name][which].get<double>()).epsilon(0).margin(2e-6);
    };
    CHECK(stats.mean_ms == expected("mean"));
    CHECK(stats.median_ms == expected("p50"));
    CHECK(stats.p90_ms == expected("p90"));
    CHECK(stats.p99_ms == expected("p99"));
  }
}

TEST_CASE("the case with a DRAM tier equals the oracle row by row", "[scenarios]") {
  check_rows(run_case("dram"));
}

TEST_CASE("the case of shared prefixes equals the oracle row by row", "[scenarios]") {
  check_rows(run_case("shared"));
}

TEST_CASE("totals of the case of shared prefixes equal the oracle's", "[scenarios]") {
  check_totals(run_case("shared"));
}

TEST_CASE("totals of the case with a DRAM tier equal the oracle's", "[scenarios]") {
  const CaseRun run = run_case("dram");
  check_totals(run);
  const auto total = [&](const char* key) { return run.totals[key].get<std::uint64_t>(); };
  const TierResult& dram = run.result.tiers.at(1);
  CHECK(16 * dram.hits == total("dram_hit_tokens"));
  CHECK(16 * dram.hits_resumed == total("dram_hit_tokens_resumed"));
  CHECK(dram.capacity_blocks == total("dram_slots"));
  CHECK(dram.stores == total("dram_stored_blocks"));
  CHECK(dram.evictions == total("dram_evictions"));
  CHECK(dram.store_failures == total("dram_store_failures"));
  CHECK(dram.peak_bytes == run.totals["dram_peak_blocks"].get<std::int64_t>() * 16 * 131072);
  CHECK(run.result.deferrals == total("deferrals"));
  CHECK(run.result.flushes == total("flushes"));
  CHECK(run.result.links[0].transfers == total("store_jobs"));
  CHECK(run.result.links[1].transfers == total("load_jobs"));
  CHECK(run.result.links[0].bytes == run.totals["d2h_bytes"].get<std::int64_t>());
  CHECK(run.result.links[1].bytes == run.totals["h2d_bytes"].get<std::int64_t>());
}

}  // namespace
}  // namespace spillway::test
