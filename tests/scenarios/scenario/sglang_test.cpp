// SGLang's flags in a scenario: what they mean, what contradicts, and how they go out again.
#include <algorithm>

#include "models/releases/host_sizes.hpp"
#include "reports/plan/flag_words.hpp"
#include "scenarios/scenario/flags/engine_flags.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/sim/input_error.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

/// 1,000 pages of 64 tokens, each of 131,072 bytes.
constexpr std::string_view kScenario = R"({
"name": "sglang",
"model": {"kv_bytes_per_token": 131072, "layers": 4},
"engine": {"preset": "sglang", "page_size": 64, "max_total_tokens": 64000},
"compute": {"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 5},
"tiers": [{"name": "dram", "kind": "dram"}],
"links": [
{"name": "d2h", "from": "hbm", "to": "dram", "kind": "affine", "latency_us": 10,
 "bandwidth": "25GB/s"},
{"name": "h2d", "from": "dram", "to": "hbm", "kind": "affine", "latency_us": 10,
 "bandwidth": "25GB/s"}],
"workload": {"trace": "requests.jsonl", "arrival": "trace"}
})";

Scenario sglang(const std::vector<std::string>& assignments = {}) {
  return scenario_of(kScenario, assignments);
}
std::string refusal(const std::vector<std::string>& assignments) {
  return error_of([&] { sglang(assignments); }).what();
}
bool says(const std::string& message, std::string_view part) {
  INFO(message);
  return message.find(part) != std::string::npos;
}
bool has(const std::vector<std::string>& list, std::string_view part) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

TEST_CASE("HiCache's host memory is a multiple of the device's tokens, or a size", "[scenarios]") {
  // floor(64,000 x 2) / 64 + 1 pages.
  CHECK(sglang().tier_blocks(sglang().tier->capacity) == 2001);
  CHECK(sglang({"engine.hicache_ratio=0.5"}).tier->capacity.count == 501);
  // 8,388,608 bytes a page: 10 GB hold 1,192 of them. Slots are not rounded to pages of 4 KiB.
  const Scenario sized = sglang({"tiers.0.capacity=10GB", "engine.hicache_ratio=3"});
  CHECK(sized.tier_blocks(sized.tier->capacity) == 1192);
  CHECK(find_note(sized.notes, "hicache-ratio-unused") != nullptr);
  CHECK(find_note(sized.notes, "hicache-too-small") == nullptr);
  CHECK(find_note(sglang({"tiers.0.capacity=1000blocks"}).notes, "hicache-too-small") != nullptr);
  CHECK(find_note(sglang({"engine.hicache_write_policy=write_back"}).notes, "hicache-write-back") !=
        nullptr);
}

TEST_CASE("flags of two engines are not mixed", "[scenarios]") {
  CHECK(says(refusal({"engine.max_num_seqs=8"}),
             "engine.max_num_seqs: a flag of vLLM, found beside preset sglang"));
  const auto vllm = [](const std::string& assignment) {
    return std::string(error_of([&] { reference_with({assignment}); }).what());
  };
  CHECK(says(vllm("engine.hicache_ratio=3"), "engine.hicache_ratio: a flag of SGLang"));
  CHECK(says(refusal({"engine.preset=sglang@0.4"}), "unknown engine preset \"sglang@0.4\""));
}

TEST_CASE("what SGLang would refuse or not do is refused", "[scenarios]") {
  CHECK(says(refusal({"engine.page_size=48"}), "expected a power of two, found 48"));
  CHECK(says(refusal({"engine.chunked_prefill_size=100"}),
             "engine.chunked_prefill_size: expected a multiple of page_size (64)"));
  CHECK(says(refusal({"engine.max_total_tokens=63"}), "63 tokens hold no page of 64"));
  CHECK(says(refusal({"engine.mem_fraction_static=0.9"}), "expected this or max_total_tokens"));
  CHECK(says(refusal({"engine.load=async"}), "expected layerwise or blocking with SGLang"));
  CHECK(says(refusal({"tiers.0.kind=nvme"}), "tiers.0.kind: expected dram"));
  CHECK(says(refusal({"tiers.0.eviction=fifo"}), "HiCache has rules of its own"));
}

TEST_CASE("Mooncake Store behind SGLang's host memory is told by its keys", "[scenarios]") {
  const std::string dram = R"({"name": "dram", "kind": "dram"})";
  const std::string kv = R"({"name": "kv", "kind": "kv", "capacity": "10GB")";
  const std::string ssd = R"({"name": "ssd", "kind": "nvme", "capacity": "inf"})";
  const auto tiers = [](const std::vector<std::string>& all) {
    std::string out = "tiers=[";
    for (const std::string& tier : all) out += (out.back() == '[' ? "" : ",") + tier;
    return out + "]";
  };
  CHECK_FALSE(sglang({tiers({dram, kv + "}"})}).engine.sglang.mooncake);
  const Scenario s =
      sglang({tiers({dram, kv + R"(, "segments": 2, "store": {"enable_offload": true}})", ssd})});
  CHECK(s.engine.sglang.mooncake);
  CHECK(s.engine.mooncake.segments == 2);
  REQUIRE(s.behind.size() == 2);
  CHECK(s.behind[1].name == "ssd");

  CHECK(says(refusal({tiers({dram, kv + "}", ssd})}),
             "tiers.2.name: expected at most one storage behind host memory, or Mooncake Store"));
  CHECK(says(refusal({tiers({dram, kv + R"(, "store": {"enable_offload": true}})"})}),
             "enable_offload: expected a tier of kind nvme or fs behind it"));
  CHECK(says(refusal({tiers({dram, R"({"name": "s", "kind": "fs", "capacity": "1GB", )"
                                   R"("segments": 2})"})}),
             "expected kv, the memory of Mooncake Store"));
  CHECK(says(refusal({tiers({dram, kv + R"(, "segments": 2, "eviction": "fifo"})"})}),
             "Mooncake Store has rules of its own"));
  CHECK(says(refusal({"tiers.0.segments=2"}), "expected only with preset mooncake or"));
  CHECK(says(refusal({tiers({dram, kv + R"(, "segments": 2})"}),
                      "engine.hicache_write_policy=write_back"}),
             "expected write_through"));
}

TEST_CASE("SGLang's flags come out in its own units", "[scenarios]") {
  const Scenario s = sglang({"tiers.0.capacity=100GB", "engine.async_scheduling=false"});
  const EngineFlags f = flags_of(s, s.tier->capacity, find_preset("sglang", {}));
  CHECK(has(f.arguments, "--page-size 64"));
  CHECK(has(f.arguments, "--max-total-tokens 64000"));
  CHECK(has(f.arguments, "--disable-overlap-schedule"));
  CHECK(has(f.arguments, "--hicache-size 100"));
  CHECK(has(f.arguments, "--hicache-write-policy write_through"));
  // Half of it for each of two ranks.
  const Scenario two = sglang({"tiers.0.capacity=101GB", "engine.tensor_parallel_size=2"});
  const EngineFlags g = flags_of(two, two.tier->capacity, find_preset("sglang", {}));
  CHECK(has(g.arguments, "--hicache-size 51"));
  CHECK(has(g.comments, "101000000000 bytes / 2 ranks = 51 GB"));
  CHECK(says(error_of([&] { flags_of(s, s.tier->capacity, find_preset("vllm", {})); }).what(),
             "expected a release of sglang"));
}

TEST_CASE("SGLang's flags have Mooncake's master beside them", "[scenarios]") {
  const std::string tiers =
      R"(tiers=[{"name": "dram", "kind": "dram", "capacity": "8GB"}, {"name": "mc", "kind": "kv",
                 "capacity": "64GB", "scope": "cluster", "segments": 4,
                 "store": {"lease_ms": 5000, "high_watermark": 0.8, "enable_offload": true,
                           "heartbeat_ms": 2000}},
                {"name": "ssd", "kind": "nvme", "capacity": "1TB"}])";
  const Scenario s = sglang({tiers, "engine.tensor_parallel_size=2", "fleet.replicas=2"});
  const EngineFlags f = flags_of(s, s.tier->capacity, find_preset("sglang", {}));
  REQUIRE(f.processes.size() == 1);
  CHECK(f.processes[0].command == "mooncake_master");
  CHECK(has(f.processes[0].arguments, "--default_kv_lease_ttl=5000"));
  CHECK(has(f.processes[0].arguments, "--eviction_high_watermark_ratio=0.8"));
  CHECK(has(f.processes[0].arguments, "--enable_offload=true"));
  CHECK(has(f.environment, "MOONCAKE_GLOBAL_SEGMENT_SIZE=32000000000"));
  CHECK(has(f.environment, "MOONCAKE_ENABLE_SSD_OFFLOAD=true"));
  CHECK(has(f.environment, "MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES=250000000000"));
  CHECK(has(f.environment, "MOONCAKE_OFFLOAD_HEARTBEAT_INTERVAL_SECONDS=2"));
  CHECK(has(f.comments, "64000000000 / 2 instances = 32000000000"));
  CHECK(has(f.comments, "0.8 x 64000000000 bytes = 51200000000 bytes in use"));
  const std::string script = shell_fragment(f);
  CHECK(says(script, "mooncake_master \\\n  --default_kv_lease_ttl=5000"));
  CHECK(says(script, " &\nMOONCAKE_MASTER="));
  // The segments of other processes are not SGLang's to lend.
  const Scenario other = sglang({tiers, "tiers.1.segments=3"});
  CHECK(has(flags_of(other, other.tier->capacity, find_preset("sglang", {})).not_covered,
            "segments 3: each rank of SGLang lends one, 1 in all"));
}

TEST_CASE("SGLang's queue, eviction and mixed chunks keep its own names", "[scenarios]") {
  const Scenario s =
      sglang({"engine.schedule_policy=dfs-weight", "engine.radix_eviction_policy=slru",
              "engine.enable_mixed_chunk=true"});
  CHECK(s.engine.sglang.queue == QueuePolicy::kHeaviestBranch);
  CHECK(s.engine.sglang.eviction == RadixEviction::kSlru);
  const EngineFlags f = flags_of(s, s.tier->capacity, find_preset("sglang", {}));
  CHECK(has(f.arguments, "--schedule-policy dfs-weight"));
  CHECK(has(f.arguments, "--radix-eviction-policy slru"));
  CHECK(has(f.arguments, "--enable-mixed-chunk"));
  // Upstream's class has it, its parser does not.
  const Scenario fifo = sglang({"engine.radix_eviction_policy=fifo"});
  const EngineFlags g = flags_of(fifo, fifo.tier->capacity, find_preset("sglang", {}));
  CHECK_FALSE(has(g.arguments, "--radix-eviction-policy"));
  CHECK(has(g.not_covered, "radix_eviction_policy fifo"));
  // Requests of a trace have neither.
  CHECK(says(refusal({"engine.schedule_policy=priority"}), "engine.schedule_policy"));
  CHECK(says(refusal({"engine.radix_eviction_policy=priority"}), "engine.radix_eviction_policy"));
  const std::vector<std::string> whole = {"engine.enable_mixed_chunk=true",
                                          "engine.chunked_prefill_size=0"};
  CHECK(find_note(sglang(whole).notes, "mixed-chunk-off") != nullptr);
}

TEST_CASE("without a pool or a share, SGLang's own share is taken", "[scenarios]") {
  constexpr std::string_view kSized = R"({
"name": "sized", "model": "Meta-Llama-3.1-8B", "gpu": "H100",
"engine": {"preset": "sglang", "page_size": 64},
"compute": {"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 5},
"workload": {"trace": "requests.jsonl", "arrival": "trace"}
})";
  const auto share = [&](const std::vector<std::string>& assignments) {
    return scenario_of(kSized, assignments).gpu_memory_utilization;
  };
  // 81,559 MiB: 512 + 1.5 x 8,192 + 128 + 2 x 256 + 8 x 66 sizes of graphs = 13,968 are left free.
  CHECK(share({}) == 0.829);
  CHECK(share({"engine.mem_fraction_static=0.8"}) == 0.8);
  // Chunks of 2,048 tokens: 512 + 3,072 + 128 + 512 + 8 x 42 = 4,560, but 10,240 on a large GPU.
  CHECK(share({"engine.chunked_prefill_size=2048"}) == 0.874);
  // No graphs, prompts of up to 16,384 tokens at once: 512 + 24,576 + 128.
  CHECK(share({"engine.enforce_eager=true", "engine.chunked_prefill_size=0"}) == 0.691);
  // Four ranks capture graphs for 512 requests: 512 + 12,288 + 512 + 1,024 + 528.
  CHECK(share({"engine.tensor_parallel_size=4"}) == 0.818);
  // 24 GiB: 24 requests, and no floor. 24,564 MiB less 512 + 3,072 + 128 + 48 + 336.
  CHECK(share({"gpu=RTX4090", "engine.chunked_prefill_size=2048"}) == 0.833);
}

TEST_CASE("the same 100 over eight ranks", "[scenarios]") {
  // others.md: SGLang and TensorRT-LLM count each rank, AIBrix too and in GiB, KVBM and FlexKV all.
  CHECK(host_size_of("sglang").bytes(100, 8) == 800'000'000'000);
  CHECK(host_size_of("trtllm").bytes(100'000'000'000, 8) == 800'000'000'000);
  CHECK(host_size_of("aibrix").bytes(100, 8) == 858'993'459'200);
  CHECK(host_size_of("dynamo-kvbm").bytes(100, 8) == 100'000'000'000);
  CHECK(host_size_of("flexkv").bytes(100, 8) == 107'374'182'400);
  CHECK(host_size_of("sglang").value_for(800'000'000'001, 8) == 101);
}

}  // namespace
}  // namespace spillway::test
