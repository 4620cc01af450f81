// The committed page on HiCache: what its rows say is what runs give.
#include <fmt/format.h>

#include "sim/input_file.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

struct Row {
  const char* name;
  std::vector<std::string> set;
};
const std::string kHostOnly = R"(tiers=[{"name":"dram","kind":"dram"}])";
const std::string kSlow = "tiers.1.device.client_limit=2GB/s";
const std::string kPolicy = "engine.hicache_storage_prefetch_policy=";
const std::vector<Row> kRows = {
    {"nothing", {"tiers=[]"}},
    {"host memory, 2 tokens for each of the device", {kHostOnly}},
    {"host memory, 4 tokens", {kHostOnly, "engine.hicache_ratio=4"}},
    {"host memory, 8 tokens", {kHostOnly, "engine.hicache_ratio=8"}},
    {"2 tokens, and a store at 10 GB/s", {}},
    {"2 tokens, and a store at 2 GB/s", {kSlow}},
    {"10 GB/s, `best_effort`", {kPolicy + "best_effort"}},
    {"2 GB/s, `best_effort`", {kSlow, kPolicy + "best_effort"}},
    {"2 GB/s, `wait_complete`", {kSlow, kPolicy + "wait_complete"}},
};

TEST_CASE("the page on HiCache says what runs give", "[scenarios]") {
  const std::string folder = SPILLWAY_SOURCE_DIR "/scenarios/claims/";
  const std::string page = read_text_file(folder + "hicache-multiturn.md");
  for (const Row& row : kRows) {
    JsonSource source = JsonSource::from_file(folder + "hicache-multiturn.json");
    for (const std::string& set : row.set) source.set(set);
    const Scenario scenario = load_scenario(source);
    const RunResult r = simulate(scenario, open_workload(scenario, {})).result;
    const double computed = static_cast<double>(r.prompt_tokens_by_source[0].second);
    const std::string line = fmt::format("| {} | {:.1f}% | {:.2f} s | {:.2f} |", row.name,
                                         100 * (1 - computed / static_cast<double>(r.input_tokens)),
                                         r.ttft.mean_ms / 1000, r.request_throughput);
    INFO(line);
    CHECK(page.find(line) != std::string::npos);
  }
}

}  // namespace
}  // namespace spillway::test
