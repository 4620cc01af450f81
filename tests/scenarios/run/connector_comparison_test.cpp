// The committed comparison of connectors on the conversation trace: what its page says is what runs
// give. Needs the trace of ../shared; one of the rows in every run, all in `[connectors]`.
#include <fmt/format.h>

#include <filesystem>

#include "sim/input_file.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

struct Variant {
  std::string name;
  std::vector<std::string> set;
};

const char* const kRedisTiers = R"(tiers=[{"name":"dram","kind":"dram","capacity":"512GiB"},)"
                                R"({"name":"redis","kind":"kv","capacity":"512GiB"}])";
const char* const kRedisLinks =
    R"(links=[{"name":"put","from":"dram","to":"redis","kind":"affine","latency_us":300,)"
    R"("bandwidth":"6GB/s"},{"name":"get","from":"redis","to":"dram","kind":"affine",)"
    R"("latency_us":300,"bandwidth":"6GB/s"}])";
const char* const kTwoPools = R"(tiers=[{"name":"dram","kind":"dram","capacity":"512GiB"},)"
                              R"({"name":"l1","kind":"dram","capacity":"512GiB"}])";
const char* const kFiles = R"(tiers=[{"name":"fs","kind":"fs","capacity":"1024GiB","evictor":{}}])";

std::vector<Variant> variants() {
  return {
      {"nothing below HBM", {"tiers=[]"}},
      {"native", {}},
      {"LMCache in process", {"engine.offload_connector=lmcache"}},
      {"the same, layer by layer", {"engine.offload_connector=lmcache", "engine.load=layerwise"}},
      {"LMCache multi-process", {"engine.offload_connector=lmcache-mp"}},
      {"LMCache in process and Redis",
       {"engine.offload_connector=lmcache", "engine.kv_load_failure_policy=recompute", kRedisTiers,
        kRedisLinks}},
      {"hybrid: native, then LMCache", {"engine.offload_connector=hybrid", kTwoPools}},
      {"llm-d FS with its evictor", {"engine.offload_connector=llmd-fs", kFiles}}};
}

/// The row of the page.
std::string row_of(const Variant& variant, const std::string& trace) {
  const std::string path = SPILLWAY_SOURCE_DIR "/scenarios/claims/connectors-at-equal-bytes.json";
  JsonSource source = JsonSource::from_file(path);
  source.set("workload.trace=" + trace);
  for (const std::string& assignment : variant.set) source.set(assignment);
  const Scenario scenario = load_scenario(source);
  const RunResult r = simulate(scenario, open_workload(scenario, {})).result;
  double below = 0;
  for (std::size_t i = 2; i < r.prompt_tokens_by_source.size(); ++i) {
    below += static_cast<double>(r.prompt_tokens_by_source[i].second);
  }
  return fmt::format("| {} | {:.1f}% | {:.2f} s | {:.1f} s | {:.0f} ms |", variant.name,
                     100 * below / static_cast<double>(r.input_tokens), r.ttft.mean_ms / 1000,
                     r.ttft.p99_ms / 1000, r.tpot.p99_ms);
}

void check(const std::vector<Variant>& which) {
  const std::string trace =
      SPILLWAY_SOURCE_DIR "/../shared/traces/mooncake_fast25_conversation.jsonl.gz";
  if (!std::filesystem::exists(trace)) {
    WARN("the conversation trace is not here");
    return;
  }
  const std::string page =
      read_text_file(SPILLWAY_SOURCE_DIR "/scenarios/claims/connectors-at-equal-bytes.md");
  for (const Variant& variant : which) {
    const std::string row = row_of(variant, trace);
    INFO(row);
    CHECK(page.find(row) != std::string::npos);
  }
}

TEST_CASE("the page on connectors says what runs give", "[scenarios]") {
  check({variants()[2], variants()[7]});
}

TEST_CASE("all of the page on connectors", "[connectors][.]") {
  check(variants());
}

}  // namespace
}  // namespace spillway::test
