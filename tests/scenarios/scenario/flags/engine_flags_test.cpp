// Flags of every preset: units, scope, and sizes that come back as they were.
#include "scenarios/scenario/flags/engine_flags.hpp"
#include "reports/shell_word.hpp"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {
namespace {

/// The reference scenario with 64 GiB below HBM: 32,768 blocks of 16 x 131,072 bytes.
Scenario with_tier(const std::vector<std::string>& more = {}) {
  std::vector<std::string> all = {"tiers.0.capacity=64GiB"};
  all.insert(all.end(), more.begin(), more.end());
  return reference_with(all);
}

EngineFlags flags(const Scenario& s, const char* release) {
  return flags_of(s, s.tier->capacity, find_preset(release, {}));
}

bool has(const std::vector<std::string>& list, std::string_view part) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

/// The value of --kv-transfer-config, as a shell hands it on.
nlohmann::json connector(const EngineFlags& flags) {
  for (const std::string& argument : flags.arguments) {
    const std::string_view key = "--kv-transfer-config ";
    if (argument.rfind(key, 0) != 0) continue;
    const Scratch scratch;
    const std::string path = scratch.path("word");
    const std::string command = "printf %s " + argument.substr(key.size()) + " > '" + path + "'";
    REQUIRE(std::system(command.c_str()) == 0);
    return nlohmann::json::parse(read_file(path));
  }
  FAIL("no --kv-transfer-config");
  return {};
}

TEST_CASE("v0 has swap space in GiB of each GPU", "[scenarios]") {
  const EngineFlags f = flags(with_tier(), "vllm@0.6");
  CHECK(has(f.arguments, "--preemption-mode swap"));
  CHECK(has(f.arguments, "--swap-space 64"));
  CHECK_FALSE(has(f.arguments, "kv-offloading"));
  CHECK(has(f.comments, "of each GPU: 68719476736 bytes / 2^30 = 64 GiB"));
  CHECK(has(f.not_covered, "v0 keeps only what it preempts there"));
}

TEST_CASE("LMCache and llm-d are told in their own words and units", "[scenarios]") {
  const EngineFlags f =
      flags(with_tier({"engine.offload_connector=lmcache", "engine.tensor_parallel_size=2"}),
            "vllm@0.23");
  CHECK(has(f.environment, "LMCACHE_CHUNK_SIZE=256"));
  CHECK(has(f.environment, "LMCACHE_MAX_LOCAL_CPU_SIZE=32.0"));
  CHECK(has(f.comments, "of each rank: 68719476736 bytes / 2 ranks"));
  CHECK(connector(f)["kv_connector"] == "LMCacheConnectorV1");
  const EngineFlags mp = flags(with_tier({"engine.offload_connector=lmcache-mp"}), "vllm@0.23");
  CHECK(connector(mp)["kv_connector"] == "LMCacheMPConnector");
  CHECK(has(mp.comments, "lmcache server --l1-size-gb 64 "));
  const EngineFlags both =
      flags(with_tier({"engine.offload_connector=hybrid",
                       R"(tiers=[{"name":"dram","kind":"dram","capacity":"64GiB"},)"
                       R"({"name":"l1","kind":"dram","capacity":"32GiB"}])"}),
            "vllm@0.23");
  const nlohmann::json parts = connector(both)["kv_connector_extra_config"]["connectors"];
  CHECK(parts[0]["kv_connector_extra_config"]["cpu_bytes_to_use"] == 68719476736);
  CHECK(parts[1]["kv_connector"] == "LMCacheMPConnector");
  CHECK(has(both.comments, "--l1-size-gb 32 "));
  const EngineFlags files = flags(
      with_tier(
          {"engine.offload_connector=llmd-fs",
           R"(tiers=[{"name":"fs","kind":"fs","capacity":"64GiB","evictor":{}}])",
           R"(links=[{"name":"w","from":"hbm","to":"fs","kind":"constant","bandwidth":"1GB/s"},)"
           R"({"name":"r","from":"fs","to":"hbm","kind":"constant","bandwidth":"1GB/s"}])"}),
      "vllm@0.23");
  CHECK(connector(files)["kv_connector_extra_config"]["spec_name"] ==
        "SharedStorageOffloadingSpec");
  CHECK(has(files.comments, "CLEANUP_THRESHOLD=85"));
}

TEST_CASE("over two ranks swap space is each GPU's half, and the connector's size the sum",
          "[scenarios]") {
  const Scenario s = with_tier({"engine.tensor_parallel_size=2"});
  CHECK(has(flags(s, "vllm@0.6").arguments, "--swap-space 32"));
  const EngineFlags f = flags(s, "vllm@0.23");
  CHECK(has(f.arguments, "--kv-offloading-size 64"));
  CHECK(has(f.arguments, "--tensor-parallel-size 2"));
  CHECK(has(f.comments, "of all 2 ranks of one engine together"));
  CHECK(has(f.comments, "each rank has 68719476736 / 2 = 34359738368 bytes"));
  // A block of 2 MiB is 1 MiB on each of two workers: as many of them.
  CHECK(connector(flags(s, "vllm@0.12"))["kv_connector_extra_config"]["num_cpu_blocks"] == 32768);
}

TEST_CASE("a size of each rank is summed", "[scenarios]") {
  const Scenario s = with_tier({"engine.tensor_parallel_size=2", "tiers.0.scope=rank"});
  CHECK(has(flags(s, "vllm@0.23").arguments, "--kv-offloading-size 128"));
}

TEST_CASE("data-parallel engines have a pool each", "[scenarios]") {
  const EngineFlags f = flags(with_tier({"engine.data_parallel_size=2"}), "vllm@0.23");
  CHECK(has(f.arguments, "--kv-offloading-size 64"));
  CHECK(has(f.arguments, "--data-parallel-size 2"));
  CHECK(has(f.comments, "2 x 64 GiB = 128 GiB of host memory"));
}

TEST_CASE("0.12 counts blocks of each worker", "[scenarios]") {
  const EngineFlags f = flags(with_tier({"engine.preset=vllm@0.12"}), "vllm@0.12");
  const nlohmann::json c = connector(f);
  CHECK(c["kv_connector"] == "OffloadingConnector");
  CHECK(c["kv_role"] == "kv_both");
  CHECK(c["kv_connector_extra_config"] ==
        nlohmann::json({{"block_size", 16}, {"num_cpu_blocks", 32768}}));
  CHECK(has(f.comments, "68719476736 bytes / 2097152 bytes a block over one rank = 32768"));
  CHECK_FALSE(has(f.arguments, "--kv-offloading-size"));
}

TEST_CASE("0.14 is given both keys, of which it reads one", "[scenarios]") {
  const nlohmann::json extra = connector(
      flags(with_tier({"engine.preset=vllm@0.14"}), "vllm@0.14"))["kv_connector_extra_config"];
  CHECK(extra["num_cpu_blocks"] == 32768);
  CHECK(extra["cpu_bytes_to_use"] == std::int64_t{64} << 30);
}

TEST_CASE("0.19 and later take the size as a flag", "[scenarios]") {
  for (const char* release : {"vllm@0.19", "vllm@0.23", "vllm@0.25", "vllm"}) {
    INFO(release);
    const EngineFlags f = flags(with_tier({std::string("engine.preset=") + release}), release);
    CHECK(has(f.arguments, "--kv-offloading-backend native"));
    CHECK(has(f.arguments, "--kv-offloading-size 64"));
    CHECK(f.not_covered.empty());
  }
}

TEST_CASE("a size in GB is set in GiB without a tail of digits, and never as more", "[scenarios]") {
  // 300 GB / 2^30 = 279.39677...; 143,051 whole blocks of 2 MiB take 279.39648... GiB. Cut after
  // three decimals, 279.396, one of them would be lost; after four it is not.
  Scenario s = with_tier();
  s.tier->capacity = parse_capacity("300GB", {});
  const EngineFlags v1 = flags(s, "vllm@0.25");
  CHECK(has(v1.arguments, "--kv-offloading-size 279.3967"));
  CHECK(has(v1.comments,
            "300000000000 bytes = 279.3968 GiB (300 GB), set as 279.3967: no more, and room for "
            "the same 143051 blocks of 2097152 bytes"));
  CHECK(has(v1.comments, "--shm-size of 279.4 GiB or more"));
  const EngineFlags v0 = flags(s, "vllm@0.6");
  CHECK(has(v0.arguments, "--swap-space 279.3967"));
  CHECK(has(v0.comments, "set as 279.3967"));
  // One that needs no rounding has no such words.
  CHECK_FALSE(has(flags(with_tier(), "vllm@0.25").comments, "set as"));
}

TEST_CASE("a size that was rounded holds as many blocks as the one that was asked for",
          "[scenarios]") {
  // vLLM computes int(float(text) * 2^30), and whole blocks of 2 MiB of that.
  const std::int64_t slot = 2'097'152;
  Scenario s = with_tier();
  for (const std::int64_t bytes :
       {slot, std::int64_t{64} << 30, std::int64_t{64'000'000'000}, std::int64_t{12'345'678'912},
        (std::int64_t{1} << 40) + 4096, 1001 * slot, 1001 * slot + 1, 1002 * slot - 1}) {
    INFO(bytes);
    s.tier->capacity = {Capacity::Kind::kBytes, bytes};
    const EngineFlags f = flags(s, "vllm@0.25");
    for (const std::string& argument : f.arguments) {
      const std::string_view key = "--kv-offloading-size ";
      if (argument.rfind(key, 0) != 0) continue;
      const double gib = std::strtod(argument.c_str() + key.size(), nullptr);
      const auto set = static_cast<std::int64_t>(gib * (1 << 30));
      CHECK(set <= bytes);
      CHECK(set / slot == bytes / slot);
    }
  }
}

TEST_CASE("a size in blocks is never rounded down", "[scenarios]") {
  Scenario s = with_tier();
  s.tier->capacity = parse_capacity("1000blocks", {});
  // 1,000 x 2 MiB = 2,000 MiB = 1.953125 GiB.
  CHECK(has(flags(s, "vllm@0.25").arguments, "--kv-offloading-size 1.953125"));
  // With chunks of three blocks, 333 1/3 chunks are 334: 334 x 6 MiB = 1.95703125 GiB.
  s = with_tier({"engine.blocks_per_chunk=3"});
  s.tier->capacity = parse_capacity("1000blocks", {});
  const nlohmann::json extra = connector(flags(s, "vllm@0.25"))["kv_connector_extra_config"];
  CHECK(extra["block_size"] == 48);
  CHECK(extra["cpu_bytes_to_use"] == std::int64_t{334} * 6 << 20);
}

TEST_CASE("what the size flag cannot say goes into the connector's configuration", "[scenarios]") {
  const Scenario s = with_tier(
      {"tiers.0.eviction=arc", "engine.store_threshold=2", "engine.offload_prompt_only=false"});
  const nlohmann::json extra = connector(flags(s, "vllm@0.25"))["kv_connector_extra_config"];
  CHECK(extra == nlohmann::json({{"cpu_bytes_to_use", std::int64_t{64} << 30},
                                 {"eviction_policy", "arc"},
                                 {"store_threshold", 2},
                                 {"max_tracker_size", 64000},
                                 {"offload_prompt_only", false}}));
  const EngineFlags old = flags(s, "vllm@0.12");
  CHECK(has(old.not_covered, "store_threshold 2: vllm@0.12 has none"));
}

TEST_CASE("the simple connector is started by its variable, lazily by its name", "[scenarios]") {
  EngineFlags f = flags(with_tier({"engine.offload_connector=simple"}), "vllm@0.23");
  CHECK(f.environment == std::vector<std::string>{"VLLM_USE_SIMPLE_KV_OFFLOAD=1"});
  CHECK(has(f.arguments, "--kv-offloading-size 64"));
  f = flags(with_tier({"engine.offload_connector=simple", "engine.lazy_offload=true"}),
            "vllm@0.23");
  const nlohmann::json c = connector(f);
  CHECK(c["kv_connector"] == "SimpleCPUOffloadConnector");
  CHECK(c["kv_connector_extra_config"]["lazy_offload"] == true);
  CHECK(has(flags(with_tier({"engine.offload_connector=simple"}), "vllm@0.12").not_covered,
            "offload_connector simple: vllm@0.12 has none"));
}

TEST_CASE("no tier and no size are no flags", "[scenarios]") {
  Scenario s = with_tier();
  s.tier->capacity = parse_capacity("0GiB", {});
  CHECK_FALSE(has(flags(s, "vllm@0.25").arguments, "kv-"));
  s.tier->capacity = parse_capacity("inf", {});
  const EngineFlags f = flags(s, "vllm@0.25");
  CHECK_FALSE(has(f.arguments, "kv-"));
  CHECK(has(f.not_covered, "no flag says \"without a bound\""));
}

TEST_CASE("what no flag covers is told", "[scenarios]") {
  const Scenario s = with_tier({"policies={\"admission\": \"all-tiers\"}", "engine.eviction=fifo",
                                "tiers.0.eviction=lfu", "engine.convoy=false"});
  const EngineFlags f = flags(s, "vllm@0.23");
  CHECK(has(f.not_covered, "the admission of requests (all-tiers"));
  CHECK(has(f.not_covered, "engine.eviction fifo"));
  CHECK(has(f.not_covered, "eviction lfu of dram"));
  CHECK(has(f.not_covered, "convoy: vllm@0.23 has it otherwise"));
}

TEST_CASE("whatever stands in a word, a shell reads that word", "[scenarios]") {
  CHECK(shell_word("a-b/c") == "a-b/c");
  CHECK(shell_word("") == "''");
  for (const std::string text : {"it's", "$(touch x)", "a b", "{\"k\": \"`id`\"}", "'", "\\"}) {
    const Scratch scratch;
    const std::string path = scratch.path("word");
    const std::string command = "printf %s " + shell_word(text) + " > '" + path + "'";
    REQUIRE(std::system(command.c_str()) == 0);
    CHECK(read_file(path) == text);
  }
}

}  // namespace
}  // namespace spillway::test
