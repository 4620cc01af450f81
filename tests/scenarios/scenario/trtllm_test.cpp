// TensorRT-LLM's arguments in a scenario: what they mean, what contradicts, and how they go out
// again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/kv_geometry.hpp"
#include "models/releases/presets.hpp"
#include "reports/plan/flag_words.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/flags/engine_flags.hpp"
#include "scenarios/scenario/intake/intake.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/sim/input_error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/notes.hpp"

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

/// On one H100 of 85,030,076,416 bytes that CUDA sees.
constexpr std::string_view kServed = R"({
"name": "served",
"model": "Llama-3.1-8B",
"gpu": "H100",
"engine": {"preset": "trtllm"},
"tiers": [{"name": "dram", "kind": "dram", "capacity": "10GB"}],
"workload": {"trace": "requests.jsonl", "arrival": "trace"}
})";

Scenario served(const std::vector<std::string>& assignments = {}) {
  return scenario_of(kServed, assignments);
}

TEST_CASE("the pool is a fraction of what weights and work leave", "[scenarios]") {
  const Scenario s = served();
  REQUIRE(s.budget);
  // A step of 8,192 tokens is one prompt: 2.8 x 8192 x 4096 x 2 of hidden states beside
  // 3 x 8192 x 14336 x 2 of the feed-forward layer.
  CHECK(s.budget->activations == Bytes(892'547'892));
  // 85,030,076,416 - 16,059,990,016 - 892,547,892 - 734,003,200 = 67,343,535,308 are free.
  CHECK(s.budget->weights == Bytes(16'059'990'016));
  CHECK(s.budget->other == Bytes(734'003'200));
  // 0.9 of them are 60,609,181,777; a block has 32 x 131,072 bytes.
  CHECK(s.budget->kv == Bytes(60'609'181'777));
  CHECK(s.engine.num_gpu_blocks == 14'450);
  CHECK(s.pool_estimated);
  CHECK_FALSE(s.pool_given);
  CHECK(find_note(s.notes, "pool-of-free-memory") != nullptr);
  // Half of them: 33,671,767,654 bytes.
  CHECK(served({"engine.free_gpu_memory_fraction=0.5"}).engine.num_gpu_blocks == 8'027);
  // A step of 8,192 tokens is 8 prompts of 1,023 and a rest: nine rows are sampled, which take
  // less than a feed-forward layer.
  CHECK(served({"engine.max_model_len=1024"}).engine.num_gpu_blocks == 14'450);
}

TEST_CASE("each rank has a pool of its own share", "[scenarios]") {
  const Scenario two = served({"engine.tensor_parallel_size=2"});
  // 85,030,076,416 less 8,029,995,008 of weights, 540,226,356 of work and 2,656,043,008 of the
  // rest leave 73,803,812,044; 0.9 of them in blocks of 2,097,152 bytes.
  CHECK(two.engine.block_bytes == Bytes(2'097'152));
  CHECK(two.budget->weights == Bytes(8'029'995'008));
  CHECK(two.engine.num_gpu_blocks ==
        static_cast<std::uint32_t>(0.9 *
                                   static_cast<double>((two.budget->visible - two.budget->weights -
                                                        two.budget->activations - two.budget->other)
                                                           .count()) /
                                   2'097'152));
}

TEST_CASE("of max_tokens and the fraction the smaller counts", "[scenarios]") {
  const Scenario fewer = served({"engine.max_tokens=100000"});
  CHECK(fewer.engine.num_gpu_blocks == 3'125);
  CHECK_FALSE(fewer.pool_estimated);
  // 14,450 blocks hold 462,400 tokens.
  const Scenario more = served({"engine.max_tokens=462432"});
  CHECK(more.engine.num_gpu_blocks == 14'450);
  CHECK(find_note(more.notes, "max-tokens-unused") != nullptr);
  // Without a GPU there is nothing to take a fraction of.
  const Scenario told = loaded({"engine.num_gpu_blocks=null", "engine.max_tokens=1000"});
  CHECK(told.engine.num_gpu_blocks == 31);
  CHECK(told.pool_given);
}

TEST_CASE("a pool that cannot be is refused with what to change", "[scenarios]") {
  const auto refused_served = [](const std::vector<std::string>& assignments) {
    return std::string(error_of([&] { served(assignments); }).what());
  };
  CHECK_THAT(refused({"engine.num_gpu_blocks=null"}),
             ContainsSubstring("or a model and a gpu to size them from"));
  CHECK_THAT(refused({"engine.num_gpu_blocks=null", "engine.max_tokens=1000",
                      "engine.free_gpu_memory_fraction=0.9"}),
             ContainsSubstring("or a model and a gpu to size them from"));
  CHECK_THAT(refused({"engine.max_tokens=1000"}),
             ContainsSubstring("expected only without num_gpu_blocks"));
  CHECK_THAT(refused_served({"model=Llama-3.1-70B"}),
             ContainsSubstring("engine.free_gpu_memory_fraction: no room for KV: weights ("));
  CHECK_THAT(refused_served({"engine.block_tokens=65536", "engine.free_gpu_memory_fraction=0.1"}),
             ContainsSubstring("0.1 of that holds no block of 8.00 GiB"));
  CHECK_THAT(refused_served({"engine.max_tokens=31"}),
             ContainsSubstring("31 tokens hold no block of 32"));
  CHECK_THAT(refused_served({"engine.free_gpu_memory_fraction=1"}), ContainsSubstring("0.999"));
}

bool has(const std::vector<std::string>& list, std::string_view part) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

TEST_CASE("TensorRT-LLM's settings go out as its own", "[scenarios]") {
  const Scenario s = loaded({"engine.capacity_scheduler_policy=MAX_UTILIZATION"});
  const EngineFlags flags = flags_of(s, s.tier->capacity, find_preset("trtllm", {}));
  CHECK(has(flags.arguments, "--max_batch_size 2048"));
  CHECK(has(flags.arguments, "--extra_llm_api_options options.yaml"));
  REQUIRE(flags.files.size() == 1);
  const std::vector<std::string>& file = flags.files[0].lines;
  CHECK(has(file, "  tokens_per_block: 32"));
  CHECK(has(file, "  max_tokens: 32000"));
  CHECK(has(file, "  host_cache_size: 10000000000"));
  CHECK(has(file, "  capacity_scheduler_policy: MAX_UTILIZATION"));
  CHECK_FALSE(has(flags.arguments, "fraction"));
}

TEST_CASE("a pool of a fraction goes out as the fraction", "[scenarios]") {
  const Scenario s = served({"engine.free_gpu_memory_fraction=0.5"});
  const EngineFlags flags = flags_of(s, s.tier->capacity, find_preset("trtllm", {}));
  CHECK(has(flags.arguments, "--kv_cache_free_gpu_memory_fraction 0.5"));
  CHECK_FALSE(has(flags.files[0].lines, "max_tokens"));
  const Scenario limited = served({"engine.max_tokens=100001"});
  const EngineFlags both = flags_of(limited, limited.tier->capacity, find_preset("trtllm", {}));
  CHECK(has(both.arguments, "--kv_cache_free_gpu_memory_fraction 0.9"));
  CHECK(has(both.files[0].lines, "  max_tokens: 100001"));
}

TEST_CASE("what goes out comes in as the same engine", "[scenarios]") {
  for (const std::vector<std::string>& changes : std::vector<std::vector<std::string>>{
           {},
           {"engine.free_gpu_memory_fraction=0.35", "engine.tensor_parallel_size=2"},
           {"engine.max_tokens=100001", "engine.enable_chunked_prefill=true"},
           {"engine.capacity_scheduler_policy=MAX_UTILIZATION", "engine.enforce_eager=true"},
           {"engine.enable_block_reuse=false", "engine.enable_partial_reuse=false",
            "engine.copy_on_partial_reuse=false", "engine.secondary_offload_min_priority=40"},
           {"engine.block_tokens=64", "engine.max_num_seqs=64",
            "engine.max_num_batched_tokens=4096", "engine.max_model_len=16384",
            "engine.max_cudagraph_capture_size=64"},
           {"model={\"name\": \"Llama-3.1-8B\", \"kv_dtype\": \"fp8\"}"}}) {
    INFO(fmt::format("{}", fmt::join(changes, " ")));
    const Scenario out = served(changes);
    const EngineFlags flags = flags_of(out, out.tier->capacity, find_preset("trtllm", {}));
    IntakeOptions options;
    options.model = "Llama-3.1-8B";
    options.gpu = "H100";
    const Intake intake = make_scenario({{"f", shell_fragment(flags)}}, options);
    const Scenario in = load_scenario(JsonSource::from_text("f.json", intake.draft.text()));
    CHECK(in.preset == out.preset);
    CHECK(in.engine.num_gpu_blocks == out.engine.num_gpu_blocks);
    CHECK(in.engine.block_bytes == out.engine.block_bytes);
    CHECK(in.engine.max_num_seqs == out.engine.max_num_seqs);
    CHECK(in.engine.max_num_batched_tokens == out.engine.max_num_batched_tokens);
    CHECK(in.engine.chunked_prefill == out.engine.chunked_prefill);
    CHECK(in.engine.tensor_parallel == out.engine.tensor_parallel);
    const TrtllmConfig& a = in.engine.trtllm;
    const TrtllmConfig& b = out.engine.trtllm;
    CHECK(a.capacity == b.capacity);
    CHECK(a.max_seq_len == b.max_seq_len);
    CHECK(a.max_tokens == b.max_tokens);
    CHECK(a.block_reuse == b.block_reuse);
    CHECK(a.partial_reuse == b.partial_reuse);
    CHECK(a.copy_on_partial_reuse == b.copy_on_partial_reuse);
    CHECK(a.offload_min_priority == b.offload_min_priority);
    CHECK(in.gpu_memory_utilization == out.gpu_memory_utilization);
    CHECK(in.pool_given == out.pool_given);
    CHECK(in.compute->graph_tokens == out.compute->graph_tokens);
    CHECK(in.tier->capacity.count == out.tier->capacity.count);
    for (const Remark& remark : intake.draft.remarks()) {
      INFO(remark.what);
      CHECK(remark.standing != Standing::kUnknown);
      CHECK(remark.standing != Standing::kNotModelled);
    }
  }
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
  const std::vector<std::string>& lines = flags.files.front().lines;
  const std::vector<std::string> wanted = {"kv_cache_config:",
                                           "  tokens_per_block: 32",
                                           "  max_tokens: 30400",
                                           "  enable_block_reuse: true",
                                           "  enable_partial_reuse: true",
                                           "  use_kv_cache_manager_v2: true",
                                           "  max_util_for_resume: 0.95",
                                           "  host_cache_size: 4194304000",
                                           "  disk_cache_size: 100000000000",
                                           "  disk_cache_path: /path/on/the/disk"};
  REQUIRE(lines.size() >= wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(lines[i] == wanted[i]);
}

}  // namespace
}  // namespace spillway::test
