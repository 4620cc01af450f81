// A run's key names everything that decides the run, and nothing else.
#include "scenarios/experiment/run_key.hpp"

#include <map>

#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

constexpr std::uint64_t kTrace[] = {0x1234};

std::string key_with(const std::vector<std::string>& settings, const RunIdentity& identity) {
  JsonSource source = JsonSource::from_text("s.json", joined(reference_lines()));
  for (const std::string& setting : settings) source.set(setting);
  return run_key(load_scenario(source), identity);
}

std::string key_with(const std::vector<std::string>& settings) {
  return key_with(settings, {"test/1", kTrace, {}});
}

TEST_CASE("names, paths and what is asked of a run do not change its key", "[scenarios]") {
  const std::string key = key_with({});
  CHECK(key.size() == 64);
  CHECK(key == key_with({"name=other"}));
  CHECK(key == key_with({"workload.trace=elsewhere/t.jsonl"}));
  CHECK(key == key_with({"plan.sizes=[\"1GiB\"]"}));
  CHECK(key == key_with({"sweep={\"vary\": {\"engine.max_num_seqs\": [1, 2]}}"}));
  CHECK(key == key_with({"tiers.0.capacity=4096MiB"}));  // as 4GiB
}

TEST_CASE("whatever changes a run changes its key", "[scenarios]") {
  std::map<std::string, std::string> keys = {{key_with({}), "as it is"}};
  const auto fresh = [&](const std::string& key, const std::string& name) {
    const auto [at, is_new] = keys.emplace(key, name);
    INFO(name << " and " << at->second);
    CHECK(is_new);
  };
  for (const char* setting :
       {"seed=2", "tiers.0.capacity=5GiB", "tiers.0.eviction=fifo", "engine.eviction=fifo",
        "engine.max_num_seqs=255", "engine.load=blocking", "links.0.latency_us=11",
        "links.1.bandwidth=24GB/s", "compute.token_ns=20001", "workload.speed=2",
        "workload.limit=5", "workload.sessions=wait", "workload.warmup_s=1",
        "policies.admission=queue-limit:max_queue=9", "model.kv_bytes_per_token=131088",
        "slo.0.max=1999"}) {
    fresh(key_with({setting}), setting);
  }
  constexpr std::uint64_t kOther[] = {0x1235};
  constexpr std::uint64_t kDays[] = {0x1234, 0x1235};
  fresh(key_with({}, {"test/1", kOther, {}}), "another trace");
  fresh(key_with({}, {"test/1", kDays, {}}), "a second day");
  fresh(key_with({}, {"test/1", kTrace, 0}), "replicate 0");
  fresh(key_with({}, {"test/1", kTrace, 1}), "replicate 1");
  fresh(key_with({}, {"test/2", kTrace, {}}), "another form");
}

}  // namespace
}  // namespace spillway::test
