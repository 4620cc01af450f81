// Mooncake Store in a scenario: what its keys mean, and what contradicts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/releases/presets.hpp"
#include "scenarios/scenario/flags/engine_flags.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/sim/input_error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

/// Objects of 2,097,152 bytes.
constexpr std::string_view kScenario = R"({
"name": "store",
"model": {"kv_bytes_per_token": 131072},
"engine": {"preset": "mooncake-client", "block_tokens": 16},
"compute": {"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 5},
"tiers": [{"name": "store", "kind": "kv", "capacity": "10GB", "scope": "cluster", "segments": 4,
           "store": {"enable_offload": true, "eviction_ratio": 0.035, "lease_ms": 12.5}},
          {"name": "ssd", "kind": "nvme", "capacity": "20GB"}],
"links": [
{"name": "put", "from": "hbm", "to": "store", "kind": "affine", "latency_us": 10,
 "bandwidth": "25GB/s"},
{"name": "get", "from": "store", "to": "hbm", "kind": "affine", "latency_us": 10,
 "bandwidth": "25GB/s"},
{"name": "down", "from": "store", "to": "ssd", "kind": "affine", "latency_us": 10,
 "bandwidth": "5GB/s"},
{"name": "up", "from": "ssd", "to": "hbm", "kind": "affine", "latency_us": 10,
 "bandwidth": "5GB/s"}],
"workload": {"trace": "requests.jsonl", "arrival": "trace"}
})";

Scenario loaded(const std::vector<std::string>& assignments = {}) {
  return scenario_of(kScenario, assignments);
}
std::string refused(const std::vector<std::string>& assignments) {
  return error_of([&] { loaded(assignments); }).what();
}

TEST_CASE("a store with Mooncake's defaults", "[scenarios]") {
  const Scenario s = loaded();
  const MooncakeConfig& c = s.engine.mooncake;
  CHECK(c.segments == 4);
  CHECK(c.lease == Duration(12'500'000));
  CHECK(c.eviction_ratio == 35'000'000);
  CHECK(c.high_watermark == 900'000'000);
  CHECK(c.put_release == std::chrono::seconds(600));
  CHECK(c.bucket_bytes == Bytes(268'435'456));
  CHECK(s.tier->name == "store");
  CHECK(s.behind.at(0).scope == Scope::kCluster);  // as the store
  CHECK(s.behind.at(0).up->name == "up");
  CHECK(s.notes.empty());
}

TEST_CASE("what a store cannot be is refused", "[scenarios]") {
  CHECK_THAT(refused({"engine.page_size=4"}),
             ContainsSubstring("a flag of SGLang, found beside preset mooncake-client"));
  CHECK_THAT(refused({"tiers.0.kind=dram"}), ContainsSubstring("expected kv"));
  CHECK_THAT(refused({"tiers.0.capacity=inf"}), ContainsSubstring("watermarks are shares"));
  CHECK_THAT(refused({"tiers.0.capacity=8MB"}),
             ContainsSubstring("each of 4 segments has 2000000"));
  CHECK_THAT(refused({"tiers.0.store.ssd_low_watermark=0.95"}),
             ContainsSubstring("expected at most ssd_high_watermark"));
  CHECK_THAT(refused({"tiers.0.store.high_watermark=0.90000000001"}),
             ContainsSubstring("at most 9 digits"));
  CHECK_THAT(refused({"tiers.0.store.leases=1"}), ContainsSubstring("lease_ms"));
  CHECK_THAT(refused({"tiers.0.eviction=fifo"}), ContainsSubstring("rules of its own"));
  CHECK_THAT(refused({"tiers.1.scope=node"}), ContainsSubstring("expected that of store"));
  CHECK_THAT(refused({"tiers.1.segments=2"}),
             ContainsSubstring("only with the store, the tier before"));
  CHECK_THAT(refused({"links.3.to=store"}), ContainsSubstring("expected hbm"));
  CHECK_THAT(refused({"policies.admission=queue-limit:max_queue=3"}),
             ContainsSubstring("has no queue"));
  CHECK_THAT(refused({"engine.preset=vllm", "engine.num_gpu_blocks=100"}),
             ContainsSubstring("expected only with preset mooncake or"));
}

TEST_CASE("what has no effect, or a bad one, is told", "[scenarios]") {
  const auto noted = [](const std::string& assignment, const char* code) {
    return find_note(loaded({assignment}).notes, code) != nullptr;
  };
  // An object takes 10 us + 83,886.08 ns.
  CHECK(noted("tiers.0.store.lease_ms=0.09", "mooncake-lease-short"));
  CHECK_FALSE(noted("tiers.0.store.lease_ms=0.1", "mooncake-lease-short"));
  CHECK(noted("tiers.0.store.put_release_s=30", "mooncake-release-early"));
  CHECK(noted("tiers.0.store.offload_force_evict=true", "mooncake-offload-off"));
  CHECK(noted("tiers.0.store.enable_offload=false", "mooncake-ssd-unused"));
}

TEST_CASE("a store's settings go out again", "[scenarios]") {
  const Scenario s = loaded();
  const EngineFlags flags = flags_of(s, s.tier->capacity, find_preset("mooncake-client", {}));
  const std::string arguments = fmt::format("{}", fmt::join(flags.arguments, " "));
  CHECK_THAT(arguments, ContainsSubstring("--default_kv_lease_ttl=12 "));
  CHECK_THAT(fmt::format("{}", fmt::join(flags.not_covered, "; ")),
             ContainsSubstring("lease_ms: the master takes whole milliseconds"));
  CHECK_THAT(arguments, ContainsSubstring("--eviction_ratio=0.035 "));
  CHECK_THAT(arguments, ContainsSubstring("--enable_offload=true"));
  const std::string variables = fmt::format("{}", fmt::join(flags.environment, " "));
  CHECK_THAT(variables, ContainsSubstring("MOONCAKE_GLOBAL_SEGMENT_SIZE=2500000000"));
  CHECK_THAT(variables, ContainsSubstring("MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES=20000000000"));
}

}  // namespace
}  // namespace spillway::test
