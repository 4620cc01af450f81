// AIBrix KVCache, as a user runs it: what results tell, what settings are refused, what flags say.
#include <fmt/format.h>

#include "models/releases/presets.hpp"
#include "scenarios/scenario/flags/engine_flags.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

struct Text {
  std::string preset = "aibrix@0.4";
  std::string engine{};  ///< further keys of the engine
  std::string dram = R"("capacity": "64blocks")";
  std::string more{};   ///< further tiers
  std::string links{};  ///< of these
  std::string top{};    ///< further sections
};

Scenario scenario_with(const Text& t) {
  const std::string text = fmt::format(
      R"({{"model": {{"kv_bytes_per_token": 131072}},
 "engine": {{"preset": "{}", "block_tokens": 16, "num_gpu_blocks": 65, "max_num_seqs": 8,
            "max_num_batched_tokens": 2048{}}},
 "compute": {{"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 0}},
 "tiers": [{{"name": "dram", "kind": "dram", {}}}{}],
 "links": [{{"name": "d2h", "from": "hbm", "to": "dram", "kind": "affine", "latency_us": 10,
            "bandwidth": "16GiB/s"}},
           {{"name": "h2d", "from": "dram", "to": "hbm", "kind": "affine", "latency_us": 10,
            "bandwidth": "16GiB/s"}}{}],
 "workload": {{"trace": "x.jsonl"}}, "seed": 1{}}})",
      t.preset, t.engine, t.dram, t.more, t.links, t.top);
  return load_scenario(JsonSource::from_text("s.json", text));
}

const char* const kL2 = R"(, {"name": "kv", "kind": "kv", "scope": "cluster", "lookup_us": 100})";
const char* const kL2Links =
    R"(, {"name": "put", "from": "dram", "to": "kv", "kind": "affine", "latency_us": 100,)"
    R"( "bandwidth": "4GiB/s"}, {"name": "get", "from": "kv", "to": "dram", "kind": "affine",)"
    R"( "latency_us": 100, "bandwidth": "4GiB/s"})";

TEST_CASE("AIBrix's tiers and links are told in blocks and jobs", "[scenarios]") {
  // HBM and host memory hold two documents of 32 blocks, which is one chunk; there are three. What
  // leaves host memory goes to L2, a block a job, and is read from there when it comes again.
  const Scenario scenario = scenario_with({.engine = R"(, "aibrix": {"ingestion": "evicted"})",
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
  const auto refused = [](const Text& text, const std::string& words) {
    try {
      scenario_with(text);
    } catch (const InputError& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(words) != std::string::npos);
      return;
    }
    FAIL("accepted: " << words);
  };
  refused({.engine = R"(, "async_scheduling": true)"}, "async_scheduling");
  refused({.engine = R"(, "load": "barrier")"}, "engine.load");
  refused({.engine = R"(, "residency": "streaming")"}, "residency");
  refused({.engine = R"(, "pipeline_parallel_size": 2)"}, "pipeline_parallel_size");
  refused({.engine = R"(, "offload_connector": "lmcache")"}, "offload_connector");
  refused({.engine = R"(, "store_threshold": 2)"}, "store_threshold");
  refused({.engine = R"(, "aibrix": {"promo_threshold": 4})"}, "promo_threshold");
  refused({.engine = R"(, "aibrix": {"small_fifo_ratio": 1})"}, "small_fifo_ratio");
  refused({.engine = R"(, "aibrix": {"ingestion": "cold"})"}, "ingestion");
  refused({.preset = "vllm@0.23", .engine = R"(, "aibrix": {})"},
          "expected only with preset aibrix");
  refused({.preset = "vllm@0.23", .engine = R"(, "offload_connector": "aibrix")"}, "preset");
  refused({.dram = R"("capacity": "inf")"}, "tiers.0.capacity");
  refused({.dram = R"("capacity": "1GiB", "eviction": "arc")"}, "tiers.0.eviction");
  refused({.dram = R"("capacity": "1GiB", "scope": "cluster")"}, "tiers.0.scope");
  refused({.dram = R"("capacity": "1GiB", "lookup_us": 5)"}, "tiers.0.lookup_us");
  refused({.dram = R"("capacity": "1GiB", "write_admission": "second-hit")"},
          "tiers.0.write_admission");
  refused({.more = R"(, {"name": "b", "kind": "nvme", "capacity": "1GiB"})"}, "tiers.1.kind");
  refused({.more = R"(, {"name": "b", "kind": "kv", "eviction": "fifo"})", .links = ""},
          "tiers.1.eviction");
  refused({.more = kL2, .links = R"(, {"name": "get", "from": "kv", "to": "hbm", "kind": "affine",
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
  const Scenario s = scenario_with(
      {.more = R"(, {"name": "kv", "kind": "kv", "scope": "replica"})", .links = kL2Links});
  CHECK(s.behind.front().scope == Scope::kInstance);
}

TEST_CASE("AIBrix's sizes are variables in GiB of each rank", "[scenarios]") {
  const auto flags = [](const Text& text) {
    const Scenario s = scenario_with(text);
    return flags_of(s, s.tier->capacity, find_preset(s.preset, {}));
  };
  const auto has = [](const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  const EngineFlags usual =
      flags({.dram = R"("capacity": "10GiB")", .more = kL2, .links = kL2Links});
  CHECK(has(usual.environment, "AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB=10"));
  CHECK(has(usual.environment, "AIBRIX_KV_CACHE_OL_L1_CACHE_EVICTION_POLICY=S3FIFO"));
  CHECK(has(usual.environment, "AIBRIX_KV_CACHE_OL_L2_CACHE_INGESTION_TYPE=HOT"));
  CHECK(has(usual.environment, "AIBRIX_KV_CACHE_OL_DOUBLE_GET_THRESHOLD=4,0.1"));
  CHECK(has(usual.comments,
            "AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB is in GiB (2^30), of each rank: 10737418240 "
            "bytes / 1 ranks = 10"));
  CHECK(has(usual.comments, "memory of the pod: about 1 ranks x (10 + 20 GiB) = 30 GiB"));
  const EngineFlags two = flags({.engine = R"(, "tensor_parallel_size": 2)",
                                 .dram = R"("capacity": "64blocks", "eviction": "fifo")"});
  // 64 blocks of 2 MiB over two ranks.
  CHECK(has(two.environment, "AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB=0.0625"));
  CHECK(has(two.environment, "AIBRIX_KV_CACHE_OL_L1_CACHE_EVICTION_POLICY=FIFO"));
}

}  // namespace
}  // namespace spillway::test
