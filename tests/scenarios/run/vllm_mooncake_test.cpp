// vLLM with Mooncake Store as its connector, as a user runs it: what results tell, what settings
// are refused, what flags say.
#include <fmt/format.h>

#include "models/releases/presets.hpp"
#include "scenarios/scenario/flags/engine_flags.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/run/attached_text.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/sim/input_error.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

/// Objects of 2,097,152 bytes, of which HBM has 64 and the store 1000.
constexpr std::string_view kStoreOnVllm = R"({
"name": "store",
"model": {"kv_bytes_per_token": 131072},
"engine": {"preset": "mooncake@0.3", "block_tokens": 16, "num_gpu_blocks": 65, "max_num_seqs": 8,
           "max_num_batched_tokens": 2048},
"compute": {"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 0},
"tiers": [{"name": "store", "kind": "kv", "capacity": "1000blocks", "scope": "cluster",
           "segments": 2, "store": {"lease_ms": 500}}],
"links": [{"name": "put", "from": "hbm", "to": "store", "kind": "affine", "latency_us": 10,
           "bandwidth": "16GiB/s"},
          {"name": "get", "from": "store", "to": "hbm", "kind": "affine", "latency_us": 10,
           "bandwidth": "16GiB/s"}],
"workload": {"trace": "x.jsonl"}, "seed": 1
})";
constexpr std::string_view kWithSsd =
    R"(tiers=[{"name": "store", "kind": "kv", "capacity": "1000blocks", "scope": "cluster",)"
    R"( "segments": 2, "store": {"enable_offload": true}},)"
    R"( {"name": "ssd", "kind": "nvme", "capacity": "2000blocks"}])";

Scenario on_vllm(const std::vector<std::string>& assignments = {}) {
  return scenario_of(kStoreOnVllm, assignments);
}
std::string refused_on_vllm(const std::vector<std::string>& assignments) {
  return error_of([&] { on_vllm(assignments); }).what();
}

TEST_CASE("mooncake is vLLM 0.25 without asynchronous scheduling", "[scenarios]") {
  const EngineConfig here = engine_defaults(find_preset("mooncake", {}), nullptr);
  const EngineConfig vllm = engine_defaults(find_preset("vllm@0.23", {}), nullptr);
  CHECK(here.is_mooncake());
  CHECK_FALSE(here.recompute_failed);
  for (const EngineSwitch& s : engine_switches()) {
    INFO("switch: " << s.name);
    CHECK(here.*s.member == (s.name != "async_scheduling" && vllm.*s.member));
  }
}

TEST_CASE("replicas of vLLM share a Mooncake Store", "[scenarios]") {
  // Three documents of 32 blocks go to replicas 0, 1, 0, 1, 0, 1: each document once to each. Who
  // comes second finds 31 of its blocks, as an aligned prompt computes its last one.
  const std::vector<std::string> two = {"fleet.replicas=2", "fleet.routing=round-robin"};
  const RunResult r = simulate(on_vllm(two), repeating(6, 3, 1000, 1, 512)).result;
  CHECK(r.completed == 6);
  REQUIRE(r.tiers.size() == 2);
  CHECK(r.tiers[1].stores == 3 * 32);
  CHECK(r.tiers[1].hits == 3 * 31);
  CHECK(r.tiers[1].capacity_blocks == 1000);
  REQUIRE(r.links.size() == 4);
  CHECK(r.links[0].name == "put/engine0");
  CHECK(r.links[0].from == "hbm");
  CHECK(r.links[0].to == "store");
  CHECK(r.links[0].transfers + r.links[2].transfers == 3);
  CHECK(r.links[1].transfers + r.links[3].transfers == 3);
  // With a store each, only the prefix cache of HBM and the own store help.
  std::vector<std::string> apart = two;
  apart.emplace_back("tiers.0.scope=instance");
  const SimulationOutcome own = simulate(on_vllm(apart), repeating(6, 3, 1000, 1, 512));
  CHECK(own.result.tiers[1].hits == 0);
  CHECK(own.result.tiers[1].stores == 6 * 32);
  CHECK(find_note(own.warnings, "store-for-each") != nullptr);
}

TEST_CASE("loads that outlast their lease fail, or are computed, and are told", "[scenarios]") {
  // 31 blocks take 10 us + 31/8192 s = 3.8 ms. A lease of 2 ms is longer than one object takes.
  const std::vector<std::string> brief = {"tiers.0.store.lease_ms=2", "engine.num_gpu_blocks=34"};
  const SimulationOutcome fails = simulate(on_vllm(brief), repeating(4, 2, 1000, 1, 512));
  CHECK(fails.result.completed == 2);
  CHECK(fails.result.load_failures == 2);
  CHECK(find_note(fails.warnings, "loads-failed") != nullptr);
  CHECK(find_note(fails.warnings, "leases-ended") != nullptr);
  std::vector<std::string> computes = brief;
  computes.emplace_back("engine.kv_load_failure_policy=recompute");
  const SimulationOutcome goes_on = simulate(on_vllm(computes), repeating(4, 2, 1000, 1, 512));
  CHECK(goes_on.result.completed == 4);
  CHECK(goes_on.result.load_failures == 2);
  CHECK(find_note(goes_on.warnings, "loads-recomputed") != nullptr);
  // Shorter than one object takes, it is told before any run.
  const Scenario s = on_vllm({"tiers.0.store.lease_ms=0.1"});
  CHECK(find_note(s.notes, "mooncake-lease-short") != nullptr);
}

TEST_CASE("Mooncake Store on vLLM without links takes published figures", "[scenarios]") {
  const Scenario s = on_vllm({"links=null", std::string(kWithSsd)});
  CHECK(s.down->affine);
  CHECK(s.down->from == "hbm");
  CHECK(s.up->to == "hbm");
  CHECK(s.behind.at(0).up.has_value());
  CHECK(s.up->bytes_per_second == 21'750'000'000);
  CHECK(find_note(s.notes, "link-default") != nullptr);
}

TEST_CASE("settings that Mooncake Store on vLLM cannot have are refused by name", "[scenarios]") {
  const auto refuses = [](const std::string& assignment, const std::string& words) {
    CHECK_THAT(refused_on_vllm({assignment}), ContainsSubstring(words));
  };
  refuses("engine.async_scheduling=true", "async_scheduling");
  refuses("engine.load=barrier", "engine.load");
  refuses("engine.offload_connector=lmcache", "expected mooncake");
  refuses("engine.offload_prompt_only=false", "as it stores prompts only");
  refuses("engine.store_threshold=2", "store_threshold");
  refuses("engine.kv_load_failure_policy=retry", "kv_load_failure_policy");
  refuses("tiers=null", "the memory of Mooncake Store");
  refuses("tiers.0.kind=dram", "expected kv");
  refuses("tiers.0.capacity=3MiB", "each of 2 segments has 1572864 bytes, and an object 2097152");
  refuses("tiers.0.capacity=0GiB", "expected room for one");
  refuses("tiers.0.capacity=inf", "watermarks are shares");
  refuses("tiers.0.eviction=fifo", "rules of its own");
  refuses("tiers.0.store.leases=1", "lease_ms");
  refuses("tiers.0.store.lease_ms=-1", "lease_ms");
  refuses("tiers.0.store.enable_offload=true", "the SSD");
  refuses("links.0.kind=default", "expected only with kind affine");
  refuses("links.0.through=[\"root\"]", "root");
  refuses(R"(links.0={"name": "put", "from": "hbm", "to": "store", "kind": "table",)"
          R"( "copy_bytes": ["2MiB"], "gbs": [20]})",
          "affine or constant links");
  refuses("media=[{\"name\": \"root\", \"bandwidth\": \"50GB/s\"}]", "media");
  CHECK_THAT(refused_on_vllm({std::string(kWithSsd), "tiers.1.scope=node"}),
             ContainsSubstring("expected that of store"));
  CHECK_THAT(refused_on_vllm({"engine.preset=vllm@0.23", "tiers.0.store=null"}),
             ContainsSubstring("expected only with preset mooncake"));
  CHECK_THAT(refused_on_vllm({"engine.preset=kvbm", "engine.kv_load_failure_policy=recompute"}),
             ContainsSubstring("kv_load_failure_policy"));
}

TEST_CASE("Mooncake Store on vLLM is a connector's argument, its file and a master",
          "[scenarios]") {
  // 1000 blocks of 2,097,152 bytes over two replicas of one rank: 1,048,576,000 each.
  const auto told_of = [](std::vector<std::string> assignments) {
    assignments.emplace_back("fleet.replicas=2");
    const Scenario s = on_vllm(assignments);
    return flags_of(s, s.tier->capacity, find_preset(s.preset, {}));
  };
  const EngineFlags told = told_of({"engine.kv_load_failure_policy=recompute"});
  CHECK(told.engine == "mooncake");
  CHECK(has(told.environment, "MOONCAKE_CONFIG_PATH=mooncake_config.json"));
  CHECK(has(told.arguments, "--no-async-scheduling"));
  CHECK(has(told.arguments, R"(--kv-transfer-config '{"kv_connector":"MooncakeStoreConnector",)"
                            R"("kv_role":"kv_both","kv_load_failure_policy":"recompute"}')"));
  REQUIRE(told.files.size() == 1);
  CHECK(told.files[0].name == "mooncake_config.json");
  CHECK(has(told.files[0].lines, R"(  "mode": "embedded",)"));
  CHECK(has(told.files[0].lines, R"(  "global_segment_size": 1048576000,)"));
  CHECK(has(told.comments,
            "global_segment_size: bytes that each of 2 ranks lends the store: 2097152000 / 2 = "
            "1048576000"));
  REQUIRE(told.processes.size() == 1);
  CHECK(told.processes[0].command == "mooncake_master");
  CHECK(has(told.processes[0].arguments, "--default_kv_lease_ttl=500"));
  // With an SSD, processes of their own have memory and SSD, and ranks lend nothing.
  const EngineFlags ssd = told_of({std::string(kWithSsd)});
  CHECK(has(ssd.files[0].lines, R"(  "mode": "standalone-store",)"));
  CHECK(has(ssd.files[0].lines, R"(  "global_segment_size": 0,)"));
  CHECK(has(ssd.files[0].lines, R"(  "enable_offload": true)"));
  REQUIRE(ssd.processes.size() == 2);
  CHECK(ssd.processes[1].command.ends_with(" mooncake_client"));
  CHECK(has(ssd.processes[1].arguments, "--global_segment_size=1048576000"));
  CHECK(has(ssd.processes[1].arguments, "--enable_offload=true"));
  CHECK_THAT(ssd.processes[1].command,
             ContainsSubstring("MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES=4194304000"));
}

}  // namespace
}  // namespace spillway::test
