// Attached stores: variables, files and processes as tiers and keys, each value with its origin,
// and what was ignored with its place.
#include <fmt/format.h>

#include "models/engine/connectors/chunks/chunk_rules.hpp"
#include "scenarios/scenario/intake/input_kinds.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/scenario/intake/intake_setup.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

constexpr std::int64_t kStoreGibibyte = std::int64_t{1} << 30;

std::string vllm_call(const std::string& variables, const std::string& connector,
                      const std::string& more = "") {
  return fmt::format(
      "{}vllm serve Qwen/Qwen3-8B {} --kv-transfer-config "
      "'{{\"kv_connector\":\"{}\",\"kv_role\":\"kv_both\"}}'\n",
      variables, more, connector);
}

std::string sglang_call(const std::string& before, const std::string& more = "") {
  return before +
         "python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --enable-hierarchical-cache "
         "--hicache-storage-backend mooncake " +
         more + "\n";
}

std::string origins(const Intake& intake) {
  return intake.draft.text();
}

TEST_CASE("AIBrix's L1 is in GiB of each rank", "[scenarios]") {
  const Intake intake =
      intake_of(vllm_call("export AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB=20.5\n",
                          "AIBrixOffloadingConnectorV1Type1", "--tensor-parallel-size 2"));
  const Scenario s = loaded(intake);
  CHECK(s.engine.is_aibrix());
  CHECK(s.tier->capacity.count == 41 * kStoreGibibyte);
  CHECK(s.tier->order == ChunkOrder::kS3Fifo);
  CHECK(s.behind.empty());
  CHECK_THAT(origins(intake),
             ContainsSubstring("AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB=20.5, of each of 2 ranks"));
  const Intake usual = intake_of(vllm_call("", "AIBrixOffloadingConnectorV1Type2"));
  CHECK(loaded(usual).tier->capacity.count == 10 * kStoreGibibyte);
  CHECK(says(usual, Standing::kAssumed, "AIBrix takes 10 GiB"));
  CHECK(says(usual, Standing::kNotModelled, "simulated as the connector of type 1"));
}

TEST_CASE("AIBrix's L2 and its rules", "[scenarios]") {
  const std::string variables =
      "AIBRIX_KV_CACHE_OL_L1_CACHE_EVICTION_POLICY=lru\n"
      "AIBRIX_KV_CACHE_OL_CHUNK_SIZE=256\n"
      "AIBRIX_KV_CACHE_OL_L2_CACHE_BACKEND=infinistore\n"
      "AIBRIX_KV_CACHE_OL_L2_CACHE_INGESTION_TYPE=EVICTED\n"
      "AIBRIX_KV_CACHE_OL_L2_CACHE_INGESTION_MAX_INFLIGHT_TOKENS=4096\n"
      "AIBRIX_KV_CACHE_OL_L2_CACHE_PER_TOKEN_TIMEOUT_MS=7\n"
      "AIBRIX_KV_CACHE_OL_DOUBLE_GET_THRESHOLD=8\n"
      "AIBRIX_KV_CACHE_OL_L2_CACHE_COMPRESSION=ZSTD\n"
      "AIBRIX_KV_CACHE_OL_INFINISTORE_IB_PORT=1\n";
  const Intake intake = intake_of(variables);
  const Scenario s = loaded(intake);
  const AibrixConfig& c = s.engine.aibrix;
  CHECK(s.tier->order == ChunkOrder::kLru);
  CHECK(c.chunk_tokens == 256);
  CHECK(c.ingestion == Ingestion::kEvicted);
  CHECK(c.max_inflight_tokens == 4096);
  CHECK(to_double(c.per_token_timeout_ms) == 7);
  CHECK(c.double_get_blocks == 8);
  CHECK(to_double(c.double_get_ratio) == 0);  // the share is not looked at
  REQUIRE(s.behind.size() == 1);
  CHECK(s.behind[0].scope == Scope::kCluster);
  CHECK(says(intake, Standing::kNotModelled, "L2_CACHE_COMPRESSION=ZSTD: blocks are stored as"));
  CHECK(says(intake, Standing::kNoEffect, "INFINISTORE_IB_PORT=1"));
  const Intake without = intake_of("AIBRIX_KV_CACHE_OL_L2_CACHE_INGESTION_TYPE=WARM\n");
  CHECK(says(without, Standing::kNoEffect, "only with AIBRIX_KV_CACHE_OL_L2_CACHE_BACKEND"));
  const Intake bare = intake_of(
      "AIBRIX_KV_CACHE_OL_L1_CACHE_ENABLED=0\nAIBRIX_KV_CACHE_OL_L2_CACHE_BACKEND=PRIS\n");
  CHECK(loaded(bare).tier->capacity.count == 0);
  CHECK(says(bare, Standing::kNotModelled, "L2 alone is not simulated"));
}

TEST_CASE("FlexKV's sizes are in GiB of an instance", "[scenarios]") {
  const Intake intake =
      intake_of(vllm_call("export FLEXKV_CPU_CACHE_GB=48\nexport FLEXKV_SSD_CACHE_GB=256\n"
                          "export FLEXKV_EVICTION_POLICY=SLRU\nexport FLEXKV_EVICT_RATIO=0.1\n"
                          "export FLEXKV_ENABLE_GDS=1\nexport FLEXKV_ENABLE_NIXL=0\n",
                          "FlexKVConnectorV1", "--tensor-parallel-size 2"));
  const Scenario s = loaded(intake);
  CHECK(s.engine.is_flexkv());
  CHECK(s.tier->capacity.count == 48 * kStoreGibibyte);
  REQUIRE(s.behind.size() == 1);
  CHECK(s.behind[0].capacity.count == 256 * kStoreGibibyte);
  CHECK(s.engine.flexkv.eviction[0] == FlexkvEviction::kSlru);
  CHECK(s.engine.flexkv.eviction[1] == FlexkvEviction::kSlru);
  CHECK(s.engine.flexkv.evict_ratio == 100'000'000);
  CHECK(says(intake, Standing::kNotModelled, "FLEXKV_ENABLE_GDS=1"));
  CHECK(says(intake, Standing::kNoEffect, "FLEXKV_ENABLE_NIXL=0"));
  const Intake usual = intake_of(vllm_call("", "FlexKVConnectorV1"));
  CHECK(loaded(usual).tier->capacity.count == 16 * kStoreGibibyte);
  CHECK(says(usual, Standing::kAssumed, "FlexKV takes 16 GiB"));
  const Intake off = intake_of(vllm_call("ENABLE_FLEXKV=0 ", "FlexKVConnectorV1"));
  CHECK_FALSE(loaded(off).engine.is_flexkv());
  CHECK(says(off, Standing::kNotModelled, "ENABLE_FLEXKV=0 switches FlexKV off"));
}

TEST_CASE("FlexKV's file goes before its variables", "[scenarios]") {
  const std::string serve = vllm_call(
      "export FLEXKV_CONFIG_PATH=/etc/flex.json\nexport FLEXKV_CPU_CACHE_GB=8\n"
      "export FLEXKV_EVICT_RATIO=0.2\nexport FLEXKV_HIT_REWARD_SECONDS=5\n",
      "FlexKVConnectorV1");
  const IntakeText file = {"flex.json",
                           "{\"cpu_cache_gb\": 32,\n \"evict_ratio\": 0.1,\n"
                           " \"cpu_layout_type\": \"BLOCKFIRST\",\n \"enable_p2p_cpu\": true}\n"};
  const Intake intake = make_scenario({{"serve.sh", serve}, file}, {});
  const Scenario s = loaded(intake);
  CHECK(s.tier->capacity.count == 32 * kStoreGibibyte);
  CHECK(s.engine.flexkv.evict_ratio == 100'000'000);
  CHECK(s.engine.flexkv.hit_reward == std::chrono::seconds(5));
  CHECK(says(intake, Standing::kNoEffect, "FLEXKV_CPU_CACHE_GB=8: flex.json goes before it"));
  CHECK(says(intake, Standing::kNoEffect, "FLEXKV_EVICT_RATIO=0.2: flex.json goes before it"));
  CHECK(says(intake, Standing::kNotModelled, "enable_p2p_cpu: true: sharing between nodes"));
  CHECK_THAT(origins(intake), ContainsSubstring("flex.json: cpu_cache_gb: 32, GiB of all ranks"));
  const Intake missing = intake_of(serve);
  CHECK(says(missing, Standing::kNotModelled, "the file does not lie here"));
  CHECK(loaded(missing).tier->capacity.count == 8 * kStoreGibibyte);
}

TEST_CASE("a segment of Mooncake Store is of an instance", "[scenarios]") {
  const Intake intake =
      intake_of(sglang_call("export MOONCAKE_GLOBAL_SEGMENT_SIZE=64gb\n", "--tp 2 --page-size 64"));
  const Scenario s = loaded(intake);
  CHECK(s.engine.sglang.mooncake);
  REQUIRE(s.behind.size() == 1);
  CHECK(s.behind[0].capacity.count == 64 * kStoreGibibyte);
  CHECK(s.engine.mooncake.segments == 2);
  CHECK(says(intake, Standing::kUsed, "64gb, of each of 1 instance over its 2 ranks"));
  CHECK(says(intake, Standing::kAssumed, "mooncake_master: its flags are not here"));

  const std::string pod =
      "kind: Deployment\nmetadata: {name: d}\nspec:\n  replicas: 3\n  template:\n    spec:\n"
      "      containers:\n      - name: s\n        image: lmsysorg/sglang:v0.5\n"
      "        command: [python3, -m, sglang.launch_server, --model-path, Qwen/Qwen3-8B,\n"
      "          --enable-hierarchical-cache, --hicache-storage-backend, mooncake]\n"
      "        env:\n        - {name: MOONCAKE_GLOBAL_SEGMENT_SIZE, value: \"2147483648\"}\n"
      "        - {name: MOONCAKE_GLOBL_SEGMENT_SIZE, value: \"1\"}\n";
  const Intake three = intake_of(pod);
  CHECK(loaded(three).behind[0].capacity.count == 6 * kStoreGibibyte);
  CHECK(loaded(three).engine.mooncake.segments == 3);
  CHECK(says(three, Standing::kUnknown,
             "MOONCAKE_GLOBL_SEGMENT_SIZE=1: f:14: did you mean MOONCAKE_GLOBAL_SEGMENT_SIZE?"));

  const Intake none = intake_of(sglang_call("MOONCAKE_GLOBAL_SEGMENT_SIZE=0 "));
  CHECK(loaded(none).behind[0].capacity.count == 64 * kStoreGibibyte);
  CHECK(says(none, Standing::kAssumed, "processes that are not here lend it"));
  const Intake usual = intake_of(sglang_call(""));
  CHECK(loaded(usual).behind[0].capacity.count == 4 * kStoreGibibyte);
  CHECK(says(usual, Standing::kAssumed, "SGLang takes 4 GiB for each instance"));
}

TEST_CASE("a client of Mooncake Store has one source of settings", "[scenarios]") {
  const std::string variable = "export MOONCAKE_GLOBAL_SEGMENT_SIZE=8gb\n";
  const std::string extra =
      "--hicache-storage-backend-extra-config '{\"master_server_address\": \"h:1\", "
      "\"global_segment_size\": \"16gb\", \"prefetch_threshold\": 128, \"global_segmnt_size\": 1}'";
  const Intake told = intake_of(sglang_call(variable, extra));
  CHECK(loaded(told).behind[0].capacity.count == 16 * kStoreGibibyte);
  CHECK(loaded(told).engine.sglang.prefetch.threshold == 128);
  CHECK(says(told, Standing::kNoEffect, "SIZE=8gb: --hicache-storage-backend-extra-config goes"));
  CHECK(says(told, Standing::kUnknown, "did you mean global_segment_size?"));
  // Without an address SGLang does not look at them.
  const Intake unused = intake_of(sglang_call(
      variable, "--hicache-storage-backend-extra-config '{\"global_segment_size\": 1}'"));
  CHECK(loaded(unused).behind[0].capacity.count == 8 * kStoreGibibyte);
  CHECK(says(unused, Standing::kNoEffect, "only with master_server_address"));

  const IntakeText file = {"mc.json",
                           "{\"master_server_address\": \"h:1\",\n \"global_segment_size\": "
                           "2147483648}\n"};
  const std::string named =
      sglang_call(variable + "export SGLANG_HICACHE_MOONCAKE_CONFIG_PATH=/x/mc.json\n");
  const Intake of_file = make_scenario({{"s.sh", named}, file}, {});
  CHECK(loaded(of_file).behind[0].capacity.count == 2 * kStoreGibibyte);
  CHECK(says(of_file, Standing::kNoEffect, "SIZE=8gb: mc.json goes before it"));
  // A client process beside the engine lends the memory.
  const Intake dummy = intake_of(
      "mooncake_client --global_segment_size='4 GB' &\n" +
      sglang_call("",
                  "--hicache-storage-backend-extra-config '{\"standalone_storage\": true, "
                  "\"client_server_address\": \"h:2\"}'"));
  CHECK(loaded(dummy).behind[0].capacity.count == 4 * kStoreGibibyte);
}

TEST_CASE("the master of Mooncake Store is read from its command line and its file",
          "[scenarios]") {
  const std::string master =
      "mooncake_master --default_kv_lease_ttl=5s --noallow_evict_soft_pinned_objects \\\n"
      "  --eviction_ratio 0.1 --promotion_on_hit --config_path=/etc/master.yaml &\n";
  const std::string serve = master + sglang_call("MOONCAKE_GLOBAL_SEGMENT_SIZE=64gb ");
  const IntakeText file = {"master.yaml",
                           "default_kv_lease_ttl: 9000\neviction_high_watermark_ratio: 0.8\n"
                           "evicton_ratio: 0.3\n"};
  const Intake intake = make_scenario({{"s.sh", serve}, file}, {});
  const MooncakeConfig c = loaded(intake).engine.mooncake;
  CHECK(c.lease == std::chrono::seconds(5));  // a flag goes before the file
  CHECK_FALSE(c.evict_soft_pinned);
  CHECK(c.eviction_ratio == 100'000'000);
  CHECK(c.high_watermark == 800'000'000);
  CHECK(says(intake, Standing::kNoEffect, "--default_kv_lease_ttl=5s goes before it"));
  CHECK(says(intake, Standing::kUnknown, "master.yaml:3: did you mean eviction_ratio?"));
  CHECK(says(intake, Standing::kNotModelled, "--promotion_on_hit"));
  CHECK_THAT(refusal("mooncake_master --evicton_ratio=0.1\n" + sglang_call("")),
             ContainsSubstring("f:1: --evicton_ratio: did you mean --eviction_ratio?"));
}

TEST_CASE("an SSD of Mooncake Store needs the master and a client", "[scenarios]") {
  const std::string master = "mooncake_master --enable_offload --offload_on_evict=true &\n";
  const std::string ssd =
      "export MOONCAKE_ENABLE_SSD_OFFLOAD=true\n"
      "export MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES=1000000000000\n"
      "export MOONCAKE_OFFLOAD_HEARTBEAT_INTERVAL_SECONDS=2\n"
      "export MOONCAKE_DISK_EVICTION_HIGH_WATERMARK_RATIO=0.95\n";
  const Scenario both = loaded(intake_of(master + sglang_call(ssd, "--tp 2")));
  REQUIRE(both.behind.size() == 2);
  CHECK(both.behind[1].capacity.count == 2'000'000'000'000);  // of each rank
  CHECK(both.engine.mooncake.offload_on_evict);
  CHECK(both.engine.mooncake.heartbeat == std::chrono::seconds(2));
  CHECK(both.engine.mooncake.ssd_high_watermark == 950'000'000);
  const Intake alone = intake_of(master + sglang_call(""));
  CHECK(loaded(alone).behind.size() == 1);
  CHECK(says(alone, Standing::kAssumed, "no client lends an SSD"));
  CHECK(loaded(intake_of(sglang_call(ssd))).engine.mooncake.offload);
}

TEST_CASE("processes of Mooncake Store alone are its client's scenario", "[scenarios]") {
  const Intake intake = intake_of(
      "mooncake_master --default_kv_lease_ttl=700 &\n"
      "mooncake_client --global_segment_size=2GB &\n"
      "python3 -m mooncake.mooncake_store_service --port=8081\n"
      "MOONCAKE_GLOBAL_SEGMENT_SIZE=1gb python3 -m mooncake.mooncake_store_service\n");
  const Scenario s = loaded(intake);
  CHECK(s.preset == "mooncake-client");
  CHECK(s.tier->capacity.count == 3 * kStoreGibibyte);
  CHECK(s.engine.mooncake.segments == 2);
  CHECK(s.engine.mooncake.lease == std::chrono::milliseconds(700));
  CHECK(says(intake, Standing::kAssumed, "the memory that it lends is left out"));
  CHECK(says(intake, Standing::kAssumed, "set links to yours"));
  const Scenario of_file = loaded(intake_of("rpc_thread_num: 4\ndefault_kv_lease_ttl: 800\n"));
  CHECK(of_file.engine.mooncake.lease == std::chrono::milliseconds(800));
}

TEST_CASE("variables of stores never pass silently", "[scenarios]") {
  const Intake near =
      intake_of(vllm_call("export DYN_KVBM_CPU_CACHE_GB=20\nexport DYN_KVBM_DISK_CACH_GB=9\n"
                          "export DYN_KVBM_NIXL_BACKEND_UCX=true\n",
                          "DynamoConnector"));
  CHECK(says(near, Standing::kUnknown,
             "DYN_KVBM_DISK_CACH_GB=9: f:2: did you mean DYN_KVBM_DISK_CACHE_GB? KVBM does not "
             "know it and ignores it"));
  CHECK(says(near, Standing::kNoEffect, "DYN_KVBM_NIXL_BACKEND_UCX=true"));
  const Intake none = intake_of(
      "export FLEXKV_CPU_CACHE_GB=20\nexport AIBRIX_KV_CACHE_OL_CHUNK_SIZ=1\n"
      "export DYN_KVBM_CPU_CACHE_GB=3\nexport MOONCAKE_MASTER=h:1\nvllm serve Qwen/Qwen3-8B\n");
  CHECK(says(none, Standing::kNotModelled, "no connector of FlexKV is named"));
  CHECK(says(none, Standing::kNotModelled, "no connector of KVBM is named"));
  CHECK(says(none, Standing::kNotModelled, "no Mooncake Store is simulated here"));
  CHECK(says(none, Standing::kUnknown, "did you mean AIBRIX_KV_CACHE_OL_CHUNK_SIZE?"));
  const Intake far = intake_of(vllm_call("export FLEXKV_ZZZZZZZZ=1\n", "FlexKVConnectorV1"));
  CHECK(says(far, Standing::kUnknown, "FLEXKV_ZZZZZZZZ=1: f:1: FlexKV does not know it"));
}

TEST_CASE("settings of stores are known by their content", "[scenarios]") {
  const auto kind = [](std::string_view text) { return std::string(input_kind_of(text).name); };
  for (const char* text :
       {"FLEXKV_CPU_CACHE_GB=9\n", "export AIBRIX_KV_CACHE_OL_CHUNK_SIZE=9\n",
        "MOONCAKE_GLOBAL_SEGMENT_SIZE=4gb\n", "cpu_cache_gb: 9\n", "{\"cpu_cache_gb\": 9}",
        "{\"master_server_address\": \"h:1\"}", "default_kv_lease_ttl: 9\n"}) {
    INFO(text);
    CHECK(kind(text) == "settings of an engine");
  }
}

}  // namespace
}  // namespace spillway::test
