// FlexKV, as a user runs it: what results tell, what settings are refused, what flags say.
#include "tests/scenarios/run/attached_text.hpp"

namespace spillway::test {
namespace {

const AttachedStore kStore("flexkv@1.2");

const char* const kDisk = R"(, {"name": "ssd", "kind": "nvme", "capacity": "1000blocks"})";
const char* const kDiskLinks =
    R"(, {"name": "put", "from": "dram", "to": "ssd", "kind": "affine", "latency_us": 100,)"
    R"( "bandwidth": "1GiB/s"}, {"name": "get", "from": "ssd", "to": "dram", "kind": "affine",)"
    R"( "latency_us": 100, "bandwidth": "1GiB/s"})";

TEST_CASE("flexkv is vLLM 0.23 without asynchronous scheduling", "[scenarios]") {
  const EngineConfig here = engine_defaults(find_preset("flexkv", {}), nullptr);
  const EngineConfig vllm = engine_defaults(find_preset("vllm@0.23", {}), nullptr);
  CHECK(here.is_flexkv());
  for (const EngineSwitch& s : engine_switches()) {
    INFO("switch: " << s.name);
    CHECK(here.*s.member == (s.name != "async_scheduling" && vllm.*s.member));
  }
}

TEST_CASE("FlexKV's tiers and links are told in blocks and jobs", "[scenarios]") {
  // HBM and host memory hold two documents of 32 blocks each, the disk all of three. The first
  // three requests store one each, in one job a link; the others find theirs below.
  const Scenario scenario = kStore.scenario({.more = kDisk, .links = kDiskLinks});
  const RunResult r = simulate(scenario, repeating(6, 3, 1000, 1, 512)).result;
  CHECK(r.completed == 6);
  CHECK(r.tiers[2].stores == 96);
  CHECK(r.tiers[1].stores - r.tiers[1].evictions <= 64);
  CHECK(r.tiers[1].hits + r.tiers[2].hits == 3 * 32);
  REQUIRE(r.links.size() == 4);
  CHECK(r.links[2].name == "put");
  CHECK(r.links[2].from == "dram");
  CHECK(r.links[2].to == "ssd");
  CHECK(r.links[2].transfers == 3);
  CHECK(r.links[3].name == "get");
  CHECK(r.links[3].from == "ssd");
  CHECK(r.links[3].to == "dram");
  CHECK(r.links[0].transfers == 3);
  CHECK(r.links[1].transfers == 3);
}

TEST_CASE("settings that FlexKV cannot have are refused by name", "[scenarios]") {
  const auto settings = [&](const std::string& object, const std::string& words) {
    kStore.refused({.engine = R"(, "flexkv": )" + object}, words);
  };
  kStore.refused({.engine = R"(, "async_scheduling": true)"}, "async_scheduling");
  kStore.refused({.engine = R"(, "load": "barrier")"}, "engine.load");
  kStore.refused({.engine = R"(, "residency": "streaming")"}, "residency");
  kStore.refused({.engine = R"(, "pipeline_parallel_size": 2)"}, "pipeline_parallel_size");
  kStore.refused({.engine = R"(, "offload_connector": "lmcache")"}, "offload_connector");
  kStore.refused({.engine = R"(, "offload_prompt_only": true)"}, "offload_prompt_only");
  kStore.refused({.engine = R"(, "store_threshold": 2)"}, "store_threshold");
  kStore.refused({.block = 24}, "a power of two");
  settings(R"({"evict_start_threshold": 0})", "evict_start_threshold");
  settings(R"({"evict_start_threshold": 1.5})", "evict_start_threshold");
  settings(R"({"evict_ratio": 0.0000000001})", "nine decimals");
  settings(R"({"hit_reward_seconds": 0.5})", "hit_reward_seconds");
  settings(R"({"slru_protected_threshold": 0})", "slru_protected_threshold");
  kStore.refused({.preset = "vllm@0.23", .engine = R"(, "flexkv": {})"},
                 "expected only with preset flexkv");
  kStore.refused({.preset = "vllm@0.23", .engine = R"(, "offload_connector": "flexkv")"}, "preset");
  kStore.refused({.dram = R"("capacity": "1MiB")"}, "tiers.0.capacity");
  kStore.refused({.dram = R"("capacity": "0GiB")"}, "tiers.0.capacity");
  kStore.refused({.dram = R"("capacity": "inf")"}, "tiers.0.capacity");
  kStore.refused({.dram = R"("capacity": "1GiB", "eviction": "arc")"}, "tiers.0.eviction");
  kStore.refused({.dram = R"("capacity": "1GiB", "write_admission": "second-hit")"},
                 "tiers.0.write_admission");
  kStore.refused({.dram = R"("capacity": "1GiB", "scope": "cluster")"}, "tiers.0.scope");
  kStore.refused({.more = R"(, {"name": "b", "kind": "kv", "capacity": "1GiB"})"},
                 "needs the nvme");
  kStore.refused({.more = R"(, {"name": "b", "kind": "fs", "capacity": "1GiB"})"}, "tiers.1.kind");
  kStore.refused({.more = R"(, {"name": "b", "kind": "nvme"})"}, "tiers.1.capacity");
  kStore.refused(
      {.more = kDisk + std::string(R"(, {"name": "b", "kind": "nvme", "capacity": "1GiB"})")},
      "tiers.2.kind");
  kStore.refused({.more = R"(, {"name": "dram", "kind": "nvme", "capacity": "1GiB"})"},
                 "tiers.1.name");
  kStore.refused(
      {.more = kDisk, .links = R"(, {"name": "get", "from": "ssd", "to": "hbm", "kind": "affine",
           "latency_us": 1, "bandwidth": "1GB/s"})"},
      "expected dram");
  kStore.refused({.top = R"(, "media": [{"name": "root", "bandwidth": "50GB/s"}])"}, "media");
}

TEST_CASE("FlexKV's sizes are flags in whole GiB", "[scenarios]") {
  // A block of 16 tokens has 2,097,152 bytes: 512 of them are 1 GiB.
  const EngineFlags told = kStore.flags({.engine = R"(, "flexkv": {"evict_start_threshold": 0.8,
                                               "evict_ratio": 0, "hit_reward_seconds": 30})",
                                         .dram = R"("capacity": "1500MiB", "eviction": "slru")",
                                         .more = kDisk,
                                         .links = kDiskLinks});
  CHECK(has(told.environment, "FLEXKV_CPU_CACHE_GB=2"));
  CHECK(has(told.environment, "FLEXKV_SSD_CACHE_GB=2"));
  CHECK(has(told.environment, "FLEXKV_EVICTION_POLICY=slru"));
  CHECK(has(told.environment, "FLEXKV_EVICT_START_THRESHOLD=0.8"));
  CHECK(has(told.environment, "FLEXKV_EVICT_RATIO=0"));
  CHECK(has(told.environment, "FLEXKV_HIT_REWARD_SECONDS=30"));
  CHECK(has(told.environment, "FLEXKV_SLRU_PROTECTED_THRESHOLD=2"));
  CHECK(has(told.comments,
            "FLEXKV_CPU_CACHE_GB is in whole GiB (2^30 bytes): 1572864000 bytes / 2^30 = 1.46, so "
            "2; 1024 blocks of 2097152 bytes"));
  CHECK(has(told.not_covered,
            "eviction lru of tier ssd: FlexKV has one policy for all tiers, that of dram"));
  CHECK(has(told.not_covered,
            "tier ssd no larger than dram: FlexKV refuses an SSD cache that is not larger"));
  CHECK(has(told.arguments, "--no-async-scheduling"));
  CHECK(has(told.arguments,
            R"(--kv-transfer-config '{"kv_connector":"FlexKVConnectorV1","kv_role":"kv_both"}')"));
}

}  // namespace
}  // namespace spillway::test
