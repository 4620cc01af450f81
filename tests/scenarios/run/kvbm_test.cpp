// Dynamo KVBM, as a user runs it: what results tell, what settings are refused, what flags say.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/releases/presets.hpp"
#include "scenarios/scenario/flags/engine_flags.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

struct Text {
  std::string preset = "kvbm@1.0";
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

const char* const kDisk = R"(, {"name": "disk", "kind": "nvme", "capacity": "1000blocks"})";
const char* const kDiskLinks =
    R"(, {"name": "put", "from": "dram", "to": "disk", "kind": "affine", "latency_us": 100,)"
    R"( "bandwidth": "1GiB/s"}, {"name": "get", "from": "disk", "to": "hbm", "kind": "affine",)"
    R"( "latency_us": 100, "bandwidth": "1GiB/s"})";

TEST_CASE("KVBM's tiers and links are told in blocks and batches", "[scenarios]") {
  // HBM holds two documents of 32 blocks, host memory too, the disk all of three. Each of six
  // requests finds its document below, less the block that is computed again.
  const Scenario scenario = scenario_with({.engine = R"(, "kvbm": {"disk_offload_filter": false})",
                                           .more = kDisk,
                                           .links = kDiskLinks});
  const RunResult r = simulate(scenario, repeating(6, 3, 1000, 1, 512)).result;
  CHECK(r.completed == 6);
  CHECK(r.tiers[2].stores == 96);
  CHECK(r.tiers[1].stores - r.tiers[1].evictions <= 64);
  CHECK(r.tiers[1].hits + r.tiers[2].hits == 3 * 31);
  REQUIRE(r.links.size() == 4);
  CHECK(r.links[2].name == "put");
  CHECK(r.links[2].from == "dram");
  CHECK(r.links[2].to == "disk");
  CHECK(r.links[2].transfers == 96);  // one block each
  CHECK(r.links[3].name == "get");
  CHECK(r.links[3].from == "disk");
  CHECK(r.links[3].to == "hbm");
  CHECK(r.links[0].transfers >= 6);  // two batches of 16 blocks for each of three documents
}

TEST_CASE("settings that KVBM cannot have are refused by name", "[scenarios]") {
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
  refused({.engine = R"(, "offload_prompt_only": true)"}, "offload_prompt_only");
  refused({.engine = R"(, "store_threshold": 2)"}, "store_threshold");
  refused({.engine = R"(, "kvbm": {"max_transfer_batch_size": 0})"}, "max_transfer_batch_size");
  refused({.preset = "vllm@0.23", .engine = R"(, "kvbm": {})"}, "expected only with preset kvbm");
  refused({.preset = "vllm@0.23", .engine = R"(, "offload_connector": "kvbm")"}, "preset");
  refused({.dram = R"("capacity": "1MiB")"}, "tiers.0.capacity");
  refused({.dram = R"("capacity": "inf")"}, "tiers.0.capacity");
  refused({.dram = R"("capacity": "1GiB", "eviction": "arc")"}, "tiers.0.eviction");
  refused({.dram = R"("capacity": "1GiB", "write_admission": "second-hit")"},
          "tiers.0.write_admission");
  refused({.dram = R"("capacity": "1GiB", "scope": "cluster")"}, "tiers.0.scope");
  refused({.more = R"(, {"name": "b", "kind": "fs", "capacity": "1GiB"})"}, "tiers.1.kind");
  refused({.more = kDisk + std::string(R"(, {"name": "b", "kind": "nvme"})")}, "tiers.2.kind");
  refused({.more = R"(, {"name": "dram", "kind": "nvme"})"}, "tiers.1.name");
  refused(
      {.more = kDisk, .links = R"(, {"name": "get", "from": "disk", "to": "dram", "kind": "affine",
           "latency_us": 1, "bandwidth": "1GB/s"})"},
      "expected hbm");
  refused({.top = R"(, "media": [{"name": "root", "bandwidth": "50GB/s"}])"}, "media");
}

TEST_CASE("KVBM's sizes are flags in GB, or in blocks where they are no whole GB", "[scenarios]") {
  const auto flags = [](const Text& text) {
    const Scenario s = scenario_with(text);
    return flags_of(s, s.tier->capacity, find_preset(s.preset, {}));
  };
  const auto has = [](const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  // A block of 16 tokens has 2,097,152 bytes: 4 GB are 1,907 of them, 1 GiB is 512.
  const EngineFlags whole = flags({.dram = R"("capacity": "4GB")",
                                   .more = R"(, {"name": "disk", "kind": "nvme",
                                              "capacity": "1GiB"})",
                                   .links = kDiskLinks});
  CHECK(has(whole.environment, "DYN_KVBM_CPU_CACHE_GB=4"));
  CHECK(has(whole.environment, "DYN_KVBM_DISK_CACHE_OVERRIDE_NUM_BLOCKS=512"));
  CHECK(has(whole.comments,
            "DYN_KVBM_CPU_CACHE_GB is in GB (10^9 bytes): 4000000000 bytes / 2097152 a block = "
            "1907 blocks"));
  const EngineFlags set = flags({.engine = R"(, "kvbm": {"max_concurrent_transfers": 2,
                                             "max_transfer_batch_size": 8,
                                             "disk_offload_filter": false})",
                                 .more = kDisk,
                                 .links = kDiskLinks});
  CHECK(has(set.environment, "DYN_KVBM_CPU_CACHE_OVERRIDE_NUM_BLOCKS=64"));
  CHECK(has(set.environment, "DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER=true"));
  CHECK(has(set.environment, "DYN_KVBM_MAX_CONCURRENT_TRANSFERS=2"));
  CHECK(has(set.environment, "DYN_KVBM_MAX_TRANSFER_BATCH_SIZE=8"));
}

}  // namespace
}  // namespace spillway::test
