// AIBrix KVCache, as a user runs it: what results tell, what settings are refused, what flags say.
#include "tests/scenarios/run/attached_text.hpp"

namespace spillway::test {
namespace {

const AttachedStore kStore("aibrix@0.4");

const char* const kL2 = R"(, {"name": "kv", "kind": "kv", "scope": "cluster", "lookup_us": 100})";
const char* const kL2Links =
    R"(, {"name": "put", "from": "dram", "to": "kv", "kind": "affine", "latency_us": 100,)"
    R"( "bandwidth": "4GiB/s"}, {"name": "get", "from": "kv", "to": "dram", "kind": "affine",)"
    R"( "latency_us": 100, "bandwidth": "4GiB/s"})";

TEST_CASE("AIBrix's tiers and links are told in blocks and jobs", "[scenarios]") {
  // HBM and host memory hold two documents of 32 blocks, which is one chunk; there are three. What
  // leaves host memory goes to L2, a block a job, and is read from there when it comes again.
  const Scenario scenario = kStore.scenario({.engine = R"(, "aibrix": {"ingestion": "evicted"})",
                                             .dram = R"("capacity": "64blocks", "eviction": "lru")",
                                             .more = kL2,
                                             .links = kL2Links});
  const RunResult r = simulate(scenario, repeating(6, 3, 1000, 1, 512)).result;
  CHECK(r.completed == 6);
  CHECK(r.tiers[2].hits > 0);
  CHECK(r.tiers[1].stores - r.tiers[1].evictions <= 64);
  CHECK(r.tiers[1].evictions == r.links[2].transfers);
  REQUIRE(r.links.size() == 4);
  CHECK(r.links[2].name == "put");
  CHECK(r.links[3].name == "get");
  CHECK(r.prompt_tokens_by_source[3].first == "kv");
  CHECK(r.prompt_tokens_by_source[3].second == 16 * r.tiers[2].hits);
}

TEST_CASE("settings that AIBrix cannot have are refused by name", "[scenarios]") {
  kStore.refused({.engine = R"(, "async_scheduling": true)"}, "async_scheduling");
  kStore.refused({.engine = R"(, "load": "barrier")"}, "engine.load");
  kStore.refused({.engine = R"(, "residency": "streaming")"}, "residency");
  kStore.refused({.engine = R"(, "pipeline_parallel_size": 2)"}, "pipeline_parallel_size");
  kStore.refused({.engine = R"(, "offload_connector": "lmcache")"}, "offload_connector");
  kStore.refused({.engine = R"(, "store_threshold": 2)"}, "store_threshold");
  kStore.refused({.engine = R"(, "aibrix": {"promo_threshold": 4})"}, "promo_threshold");
  kStore.refused({.engine = R"(, "aibrix": {"small_fifo_ratio": 1})"}, "small_fifo_ratio");
  kStore.refused({.engine = R"(, "aibrix": {"ingestion": "cold"})"}, "ingestion");
  kStore.refused({.preset = "vllm@0.23", .engine = R"(, "aibrix": {})"},
                 "expected only with preset aibrix");
  kStore.refused({.preset = "vllm@0.23", .engine = R"(, "offload_connector": "aibrix")"}, "preset");
  kStore.refused({.dram = R"("capacity": "inf")"}, "tiers.0.capacity");
  kStore.refused({.dram = R"("capacity": "1GiB", "eviction": "arc")"}, "tiers.0.eviction");
  kStore.refused({.dram = R"("capacity": "1GiB", "scope": "cluster")"}, "tiers.0.scope");
  kStore.refused({.dram = R"("capacity": "1GiB", "lookup_us": 5)"}, "tiers.0.lookup_us");
  kStore.refused({.dram = R"("capacity": "1GiB", "write_admission": "second-hit")"},
                 "tiers.0.write_admission");
  kStore.refused({.more = R"(, {"name": "b", "kind": "nvme", "capacity": "1GiB"})"},
                 "tiers.1.kind");
  kStore.refused({.more = R"(, {"name": "b", "kind": "kv", "eviction": "fifo"})", .links = ""},
                 "tiers.1.eviction");
  kStore.refused(
      {.more = kL2, .links = R"(, {"name": "get", "from": "kv", "to": "hbm", "kind": "affine",
                                      "latency_us": 1, "bandwidth": "1GB/s"})"},
      "expected dram");
}

TEST_CASE("aibrix is vLLM 0.23 without asynchronous scheduling", "[scenarios]") {
  const EngineConfig here = engine_defaults(find_preset("aibrix", {}), nullptr);
  const EngineConfig vllm = engine_defaults(find_preset("vllm@0.23", {}), nullptr);
  CHECK(here.is_aibrix());
  for (const EngineSwitch& s : engine_switches()) {
    INFO("switch: " << s.name);
    CHECK(here.*s.member == (s.name != "async_scheduling" && vllm.*s.member));
  }
}

TEST_CASE("a replica's own tier may be called so", "[scenarios]") {
  const Scenario s = kStore.scenario(
      {.more = R"(, {"name": "kv", "kind": "kv", "scope": "replica"})", .links = kL2Links});
  CHECK(s.behind.front().scope == Scope::kInstance);
}

TEST_CASE("AIBrix's sizes are variables in GiB of each rank", "[scenarios]") {
  const EngineFlags usual =
      kStore.flags({.dram = R"("capacity": "10GiB")", .more = kL2, .links = kL2Links});
  CHECK(has(usual.environment, "AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB=10"));
  CHECK(has(usual.environment, "AIBRIX_KV_CACHE_OL_L1_CACHE_EVICTION_POLICY=S3FIFO"));
  CHECK(has(usual.environment, "AIBRIX_KV_CACHE_OL_L2_CACHE_INGESTION_TYPE=HOT"));
  CHECK(has(usual.environment, "AIBRIX_KV_CACHE_OL_DOUBLE_GET_THRESHOLD=4,0.1"));
  CHECK(has(usual.comments,
            "AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB is in GiB (2^30), of each rank: 10737418240 "
            "bytes / 1 ranks = 10"));
  CHECK(has(usual.comments, "memory of the pod: about 1 ranks x (10 + 20 GiB) = 30 GiB"));
  const EngineFlags two = kStore.flags({.engine = R"(, "tensor_parallel_size": 2)",
                                        .dram = R"("capacity": "64blocks", "eviction": "fifo")"});
  // 64 blocks of 2 MiB over two ranks.
  CHECK(has(two.environment, "AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB=0.0625"));
  CHECK(has(two.environment, "AIBRIX_KV_CACHE_OL_L1_CACHE_EVICTION_POLICY=FIFO"));
}

}  // namespace
}  // namespace spillway::test
