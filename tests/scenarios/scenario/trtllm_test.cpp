// TensorRT-LLM's arguments in a scenario: what they mean, what contradicts, and how they go out
// again.
#include <algorithm>

#include "models/releases/presets.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/flags/engine_flags.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/sim/input_error.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

/// Blocks of 32 tokens, 131,072 bytes each token.
constexpr std::string_view kScenario = R"({
"name": "trtllm",
"model": {"kv_bytes_per_token": 131072},
"engine": {"preset": "trtllm", "num_gpu_blocks": 1000},
"compute": {"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 5},
"tiers": [{"name": "dram", "kind": "dram", "capacity": "10GB"}],
"links": [
{"name": "d2h", "from": "hbm", "to": "dram", "kind": "affine", "latency_us": 10,
 "bandwidth": "25GB/s"},
{"name": "h2d", "from": "dram", "to": "hbm", "kind": "affine", "latency_us": 10,
 "bandwidth": "25GB/s"}],
"workload": {"trace": "requests.jsonl", "arrival": "trace"}
})";

Scenario loaded(const std::vector<std::string>& assignments = {}) {
  return scenario_of(kScenario, assignments);
}
std::string refused(const std::vector<std::string>& assignments) {
  return error_of([&] { loaded(assignments); }).what();
}

TEST_CASE("the newest TensorRT-LLM, with its defaults", "[scenarios]") {
  const Scenario s = loaded();
  CHECK(s.preset == "trtllm@1.2");
  CHECK(s.engine.block_tokens == 32);
  CHECK(s.engine.usable_blocks() == 1000);
  CHECK(s.engine.max_num_seqs == 2048);
  CHECK(s.engine.max_num_batched_tokens == 8192);
  CHECK_FALSE(s.engine.chunked_prefill);
  CHECK(s.engine.trtllm.offload_min_priority == 30);
  // 4,194,304 bytes a block: 10 GB hold 2,384 of them.
  CHECK(s.tier_blocks(s.tier->capacity) == 2384);
}

TEST_CASE("what TensorRT-LLM does not have is refused", "[scenarios]") {
  CHECK_THAT(refused({"engine.async_scheduling=true"}), ContainsSubstring("overlap scheduler"));
  CHECK_THAT(refused({"engine.page_size=4"}), ContainsSubstring("a flag of SGLang, found beside"));
  CHECK_THAT(refused({"engine.watermark=0.1"}), ContainsSubstring("a flag of vLLM, found beside"));
  CHECK_THAT(refused({"engine.preset=vllm", "engine.enable_partial_reuse=false"}),
             ContainsSubstring("a flag of TensorRT-LLM, found beside preset vllm"));
  CHECK_THAT(refused({"tiers.0.capacity=inf"}), ContainsSubstring("pins its host memory"));
  CHECK_THAT(refused({"tiers.0.eviction=fifo"}), ContainsSubstring("rules of its own"));
  CHECK_THAT(refused({"tiers.0.kind=fs"}), ContainsSubstring("expected dram"));
}

TEST_CASE("a workload says how long KV is kept", "[scenarios]") {
  const Scenario s = loaded({"workload.retention=[[0, 64, 80, 1.5], [64, null, 10, null]]",
                             "workload.decode_retention=[20, \"inf\"]"});
  const KvRetention& says = s.engine.trtllm.retention;
  REQUIRE(says.prompt);
  REQUIRE(says.prompt->size() == 2);
  CHECK(says.prompt->at(0) == RetentionRange{0, 64, {80, Duration(1'500'000)}});
  CHECK(says.prompt->at(1) == RetentionRange{64, ~std::uint32_t{0}, {10, std::nullopt}});
  CHECK(says.decode == RetentionRule{20, std::nullopt});
  CHECK_THAT(
      refused({"workload.retention=[[0, 64, 101, null]]"}),
      ContainsSubstring("workload.retention: expected a priority, a whole number from 0 to 100"));
  CHECK_THAT(refused({"workload.retention=[[64, 64, 1, null]]"}),
             ContainsSubstring("a token at which"));
  CHECK_THAT(refused({"workload.retention=[[0, null, 1, null], [5, 6, 2, null]]"}),
             ContainsSubstring("do not overlap"));
  CHECK_THAT(refused({"workload.decode_retention=[1]"}),
             ContainsSubstring("expected [priority, milliseconds or null], found [1]"));
}

TEST_CASE("TensorRT-LLM's settings go out as its own", "[scenarios]") {
  const Scenario s = loaded({"engine.capacity_scheduler_policy=MAX_UTILIZATION"});
  const EngineFlags flags = flags_of(s, s.tier->capacity, find_preset("trtllm", {}));
  const auto has = [](const std::vector<std::string>& list, std::string_view part) {
    return std::any_of(list.begin(), list.end(),
                       [&](const std::string& one) { return one.find(part) != std::string::npos; });
  };
  CHECK(has(flags.arguments, "--max_batch_size 2048"));
  CHECK(has(flags.comments, "tokens_per_block: 32, max_tokens: 32000"));
  CHECK(has(flags.comments, "host_cache_size: 10000000000"));
  CHECK(has(flags.comments, "capacity_scheduler_policy: MAX_UTILIZATION"));
}

// ---- the KV cache manager V2

/// A pool in host memory like the GPU's, and a disk.
constexpr std::string_view kV2 = R"({
"name": "trtllm-v2",
"model": {"kv_bytes_per_token": 131072},
"engine": {"preset": "trtllm", "num_gpu_blocks": 1000, "kv_cache_manager": "v2"},
"compute": {"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 5},
"tiers": [{"name": "dram", "kind": "dram"},
          {"name": "disk", "kind": "nvme", "capacity": "100GB"}],
"links": [
{"name": "d2h", "from": "hbm", "to": "dram", "kind": "affine", "latency_us": 10,
 "bandwidth": "25GB/s"},
{"name": "h2d", "from": "dram", "to": "hbm", "kind": "affine", "latency_us": 10,
 "bandwidth": "25GB/s"},
{"name": "w", "from": "dram", "to": "disk", "kind": "affine", "latency_us": 100,
 "bandwidth": "3GB/s"},
{"name": "r", "from": "disk", "to": "dram", "kind": "affine", "latency_us": 100,
 "bandwidth": "6GB/s"}],
"workload": {"trace": "requests.jsonl", "arrival": "trace"}
})";

std::string refused_v2(const std::string& assignment) {
  return error_of([&] { scenario_of(kV2, {assignment}); }).what();
}

TEST_CASE("V2 has host memory like the GPU's, and a disk", "[scenarios]") {
  const Scenario s = scenario_of(kV2);
  CHECK(s.engine.trtllm.v2());
  CHECK(s.engine.trtllm.capacity == CapacityPolicy::kMaxUtilization);
  CHECK(s.engine.trtllm.resume_ppm == 950'000);
  CHECK(s.tier_blocks(s.tier->capacity) == 1000);
  REQUIRE(s.behind.size() == 1);
  CHECK(s.tier_blocks(s.behind[0].capacity) == 23'841);  // 100 GB of 4,194,304 bytes
  CHECK(s.behind[0].up->bytes_per_second == 6'000'000'000);
}

TEST_CASE("what V2 does not have is refused", "[scenarios]") {
  CHECK_THAT(refused_v2("engine.copy_on_partial_reuse=false"), ContainsSubstring("V2 has no such"));
  CHECK_THAT(refused_v2("engine.capacity_scheduler_policy=GUARANTEED_NO_EVICT"),
             ContainsSubstring("expected MAX_UTILIZATION"));
  CHECK_THAT(refused_v2("engine.disk_prefetch_num_reqs=4"), ContainsSubstring("expected 0"));
  CHECK_THAT(refused_v2("workload.decode_retention=[20, null]"), ContainsSubstring("pass it on"));
  CHECK_THAT(refused_v2("tiers.1.kind=fs"), ContainsSubstring("expected nvme"));
  CHECK_THAT(refused_v2("tiers.1.capacity=inf"), ContainsSubstring("makes its files"));
  CHECK_THAT(refused_v2("links.3.to=hbm"), ContainsSubstring("expected dram"));
  CHECK_THAT(refused_v2("engine.kv_cache_manager=v1"),
             ContainsSubstring("or \"kv_cache_manager\""));
  CHECK_THAT(refused({"engine.max_util_for_resume=0.9"}), ContainsSubstring("only with"));
  CHECK_THAT(refused({"engine.kv_cache_manager=v2", "tiers=[]", "links=[]"}),
             ContainsSubstring("a tier of kind dram"));
}

TEST_CASE("V2's settings go out as its own", "[scenarios]") {
  const Scenario s = scenario_of(kV2);
  const EngineFlags flags = flags_of(s, s.tier->capacity, find_preset("trtllm", {}));
  // Of a pool of 32,000 tokens resumed requests leave 5%. A block has 4,194,304 bytes.
  CHECK(flags.comments.front() ==
        "options.yaml: kv_cache_config: {tokens_per_block: 32, max_tokens: 30400, "
        "enable_block_reuse: true, enable_partial_reuse: true, use_kv_cache_manager_v2: true, "
        "max_util_for_resume: 0.95, host_cache_size: 4194304000, disk_cache_size: 100000000000, "
        "disk_cache_path: /path/on/the/disk}");
}

}  // namespace
}  // namespace spillway::test
