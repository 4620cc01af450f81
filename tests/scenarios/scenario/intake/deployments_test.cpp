// Charts, custom resources, settings and several files: what they say beside a command line.
#include "models/catalogue/gpu_spec.hpp"
#include "scenarios/scenario/intake/input_kinds.hpp"
#include "scenarios/scenario/intake/manifest_kinds.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/scenario/intake/intake_setup.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

std::string kind_name(std::string_view text) {
  return std::string(input_kind_of(text).name);
}

Intake of_files(const std::vector<IntakeText>& texts, const IntakeOptions& options = {}) {
  return make_scenario(texts, options);
}

constexpr const char* kService =
    "apiVersion: serving.kserve.io/v1alpha2\n"
    "kind: LLMInferenceService\n"
    "metadata: {name: q}\n"
    "spec:\n"
    "  replicas: 3\n"
    "  model: {uri: hf://Qwen/Qwen3-8B, name: chat}\n"
    "  parallelism: {tensor: 2}\n"
    "  kvCacheOffloading:\n"
    "    cpu: 16Gi\n"
    "    evictionPolicy: arc\n";

constexpr const char* kStack =
    "servingEngineSpec:\n"
    "  modelSpec:\n"
    "  - name: m\n"
    "    repository: lmcache/vllm-openai\n"
    "    tag: v0.3.5\n"
    "    modelURL: Qwen/Qwen3-8B\n"
    "    replicaCount: 4\n"
    "    vllmConfig: {maxModelLen: 16384, tensorParallelSize: 2}\n"
    "    lmcacheConfig: {enabled: true, cpuOffloadingBufferSize: \"20\"}\n";

TEST_CASE("the kind of an input is told by its content", "[scenarios]") {
  CHECK(kind_name("vllm serve m") == "command line");
  CHECK(kind_name("") == "command line");
  CHECK(kind_name("{\"hidden_size\": 1}") == "config.json of a model");
  CHECK(kind_name("INFO GPU KV cache size: 1 tokens") == "log of a server");
  CHECK(kind_name(kService) == "manifest or values");
  CHECK(kind_name("# LMCache\nchunk_size: 256\nlocal_cpu: true\n") == "settings of an engine");
  CHECK(kind_name("kv_cache_config:\n  max_tokens: 9\n") == "settings of an engine");
  CHECK(kind_name("max-model-len: 9\nmodel: m\n") == "settings of an engine");
  CHECK(kind_name("export DYN_KVBM_CPU_CACHE_GB=9\n# disk\nDYN_KVBM_DISK_CACHE_GB=\"9\"\n") ==
        "settings of an engine");
  CHECK(kind_name("LMCACHE_CHUNK_SIZE=9 vllm serve m\n") == "command line");
}

TEST_CASE("KServe's offloading is that of vLLM's connector, of each pod", "[scenarios]") {
  const Intake intake = intake_of(kService);
  const Scenario s = loaded(intake);
  CHECK(s.name == "chat");
  CHECK(s.fleet->replicas == 3);
  CHECK(s.engine.tensor_parallel == 2);
  CHECK(s.tier->capacity.count == std::int64_t{16} << 30);
  CHECK(s.tier->eviction.name() == "vllm-arc");
  CHECK_THAT(intake.draft.text(), ContainsSubstring("// spec.kvCacheOffloading.cpu: 16Gi"));
  const std::string more = std::string(kService) +
                           "    secondary:\n"
                           "    - fileSystem: {emptyDir: {size: 64Gi}}\n"
                           "    - fileSystem: {pvc: {ref: {name: shared, path: kv/}}}\n";
  const Scenario tiered = loaded(intake_of(more));
  REQUIRE(tiered.behind.size() == 2);
  CHECK(tiered.behind[0].capacity.count == std::int64_t{64} << 30);
  CHECK(tiered.behind[0].scope == Scope::kInstance);
  CHECK(tiered.behind[1].scope == Scope::kCluster);
}

TEST_CASE("production-stack's values become flags, LMCache's settings and routing", "[scenarios]") {
  const Intake intake = intake_of(std::string(kStack) +
                                  "cacheserverSpec: {serde: naive}\n"
                                  "routerSpec: {routingLogic: roundrobin}\n");
  const Scenario s = loaded(intake);
  CHECK(s.fleet->replicas == 4);
  CHECK(s.fleet->routing == FleetRouting::kRoundRobin);
  CHECK(s.engine.connector == ConnectorKind::kLmcache);
  CHECK(s.tier->capacity.count == std::int64_t{40} << 30);  // of two ranks
  REQUIRE(s.behind.size() == 1);
  CHECK(s.behind[0].kind() == "kv");
  // LMCache counts its own releases.
  CHECK(says(intake, Standing::kAssumed, "release of vLLM"));
  // The chart turns off what is not asked for.
  CHECK_FALSE(s.engine.enable_prefix_caching);
  CHECK(says(intake, Standing::kAssumed, "enablePrefixCaching is not set"));
  CHECK(says(intake_of(std::string(kStack) + "routerSpec: {routingLogic: kvaware}\n"),
             Standing::kAssumed, "fleet.routing session-hash"));
}

TEST_CASE("llm-d's values start vLLM for the chart's model", "[scenarios]") {
  const Intake intake = intake_of(
      "modelArtifacts: {uri: \"hf://Qwen/Qwen3-32B\", name: chat}\n"
      "decode:\n"
      "  replicas: 2\n"
      "  parallelism: {tensor: 2}\n"
      "  containers:\n"
      "  - modelCommand: vllmServe\n"
      "    args: [\"--max-num-seqs=32\"]\n"
      "prefill:\n"
      "  create: false\n"
      "  containers:\n"
      "  - {modelCommand: vllmServe, args: []}\n");
  const Scenario s = loaded(intake);
  CHECK(s.name == "chat");
  CHECK(s.engine.tensor_parallel == 2);
  CHECK(s.engine.max_num_seqs == 32);
  CHECK(s.fleet->replicas == 2);
  CHECK_FALSE(says(intake, Standing::kAssumed, "2 starts"));
}

TEST_CASE("a tier that lies on a volume has its size and is shared as it is", "[scenarios]") {
  const std::string text =
      "kind: PersistentVolumeClaim\n"
      "metadata: {name: kv}\n"
      "spec:\n"
      "  accessModes: [ReadWriteMany]\n"
      "  resources: {requests: {storage: 2Ti}}\n"
      "---\n"
      "kind: Deployment\n"
      "spec:\n"
      "  template:\n"
      "    spec:\n"
      "      containers:\n"
      "      - name: engine\n"
      "        command: [vllm, serve, Qwen/Qwen3-8B, --kv-transfer-config,\n"
      "          '{\"kv_connector\": \"OffloadingConnector\", \"kv_connector_extra_config\":\n"
      "            {\"spec_name\": \"SharedStorageOffloadingSpec\",\n"
      "             \"shared_storage_path\": \"/data/kv/a\"}}']\n"
      "        volumeMounts: [{name: store, mountPath: /data/kv/}]\n"
      "      volumes: [{name: store, persistentVolumeClaim: {claimName: kv}}]\n";
  const Scenario s = loaded(intake_of(text));
  CHECK(s.engine.connector == ConnectorKind::kLlmdFs);
  CHECK(s.tier->capacity.count == std::int64_t{2} << 40);
  CHECK(s.tier->scope == Scope::kCluster);
}

TEST_CASE("Dynamo's workers take the flags of their engine", "[scenarios]") {
  const Intake trtllm = intake_of(
      "cat > e.yaml <<EOF\nmax_batch_size: 64\nmax_num_tokens: 2048\nEOF\n"
      "python3 -m dynamo.trtllm --model-path Qwen/Qwen3-8B --extra-engine-args e.yaml "
      "--kv-block-size 64 --override-engine-args '{\"max_batch_size\": 32}'\n");
  CHECK(trtllm.draft.at("engine.preset") == "trtllm");
  CHECK(trtllm.draft.at("engine.max_num_seqs") == 32);
  CHECK(trtllm.draft.at("engine.max_num_batched_tokens") == 2048);
  CHECK(trtllm.draft.at("engine.block_tokens") == 64);
  const Intake kvbm = intake_of(
      "python3 -m dynamo.frontend --router-mode round-robin &\n"
      "DYN_KVBM_CPU_CACHE_GB=20 DYN_KVBM_DISK_CACHE_GB=100 DYN_KVBM_METRICS=true "
      "python3 -m dynamo.vllm --model Qwen/Qwen3-8B --connector kvbm\n");
  CHECK(loaded(kvbm).tier->capacity.count == 20'000'000'000);
  REQUIRE(loaded(kvbm).behind.size() == 1);
  CHECK(loaded(kvbm).behind[0].capacity.count == 100'000'000'000);
  CHECK(says(kvbm, Standing::kNoEffect, "DYN_KVBM_METRICS=true"));
}

TEST_CASE("KVBM v2 is told by its module; its settings go before variables", "[scenarios]") {
  const Intake kvbm = intake_of(
      "KVBM_CACHE_HOST_CACHE_SIZE_GB=20.5 KVBM_CACHE_DISK_CACHE_SIZE_GB=100 "
      "KVBM_CACHE_DISK_NUM_BLOCKS=7000 KVBM_METRICS_ENABLED=true KVBM_CONFIG_PATH=/etc/kvbm.toml "
      "KVBM_OFFLOAD_G1_TO_G2_POLICIES='[\"pass_all\"]' KVBM_OFFLOAD_G2_TO_G3_MAX_BATCH_SIZE=9 "
      "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2 --kv-transfer-config "
      "'{\"kv_connector\": \"DynamoConnector\", \"kv_role\": \"kv_both\", "
      "\"kv_connector_module_path\": \"kvbm.v2.vllm.connector\", \"kv_connector_extra_config\": "
      "{\"leader\": {\"offload\": {\"g2_to_g3\": {\"policies\": [\"presence_lfu\"], "
      "\"presence_lfu\": {\"min_lfu_count\": 4}, \"max_batch_size\": 32}}, "
      "\"onboard\": {\"mode\": \"intra\"}}}}'\n");
  const Scenario s = loaded(kvbm);
  CHECK(s.preset == "kvbm@2.0");
  CHECK(s.tier->capacity.count == 2 * 20'500'000'000);  // GB of each rank
  REQUIRE(s.behind.size() == 1);
  CHECK(s.behind[0].capacity.count == 7000);
  CHECK_FALSE(s.engine.kvbm.host.presence);
  CHECK((s.engine.kvbm.disk.frequent && s.engine.kvbm.min_uses == 4));
  CHECK(s.engine.kvbm.max_batch == 32);
  CHECK(says(kvbm, Standing::kNoEffect, "KVBM_METRICS_ENABLED=true"));
  CHECK(says(kvbm, Standing::kNotModelled, "KVBM_CONFIG_PATH=/etc/kvbm.toml"));
  CHECK(says(kvbm, Standing::kNotModelled, "kv_connector_extra_config.onboard.mode"));
  IntakeOptions options;
  options.model = "Qwen3-8B";
  const Scenario alone = loaded(intake_of("KVBM_CACHE_HOST_NUM_BLOCKS=900\n", options));
  CHECK(alone.preset == "kvbm@2.0");
  CHECK(alone.tier->capacity.count == 900);
}

TEST_CASE("files that a command names are found among the inputs", "[scenarios]") {
  const IntakeText lmcache = {"a/lmcache.yaml", "chunk_size: 512\nmax_local_cpu_size: 8\n"};
  const std::string serve = "vllm serve Qwen/Qwen3-8B";
  const std::string connector =
      " --kv-transfer-config '{\"kv_connector\": \"LMCacheConnectorV1\", \"kv_role\": "
      "\"kv_both\"}'";
  for (const std::string& command :
       {"LMCACHE_CONFIG_FILE=/etc/lmcache.yaml " + serve + connector, serve + connector, serve}) {
    INFO(command);
    const Intake intake = of_files({{"serve.sh", command}, lmcache});
    CHECK(intake.draft.at("engine.lmcache.chunk_tokens") == 512);
    CHECK(loaded(intake).tier->capacity.count == std::int64_t{8} << 30);
  }
  // vLLM's own file: flags of the command go before it.
  const Intake config = of_files({{"serve.sh", serve + " --config c.yaml --max-num-seqs 9"},
                                  {"c.yaml", "max-model-len: 4096\nmax-num-seqs: 3\n"}});
  CHECK(config.draft.at("engine.max_model_len") == 4096);
  CHECK(config.draft.at("engine.max_num_seqs") == 9);
  CHECK_THAT(config.draft.text(), ContainsSubstring("// --max-model-len 4096 in c.yaml"));
  // Settings of another engine say nothing of this one.
  const Intake other = of_files({{"serve.sh", serve}, {"o.yaml", "max_batch_size: 4\n"}});
  CHECK(says(other, Standing::kNotModelled, "o.yaml: settings of another engine"));
}

TEST_CASE("settings alone make a scenario of a model that is named otherwise", "[scenarios]") {
  IntakeOptions options;
  options.model = "Qwen3-8B";
  const Scenario lmcache = loaded(intake_of("chunk_size: 256\nlocal_cpu: true\n", options));
  CHECK(lmcache.engine.connector == ConnectorKind::kLmcache);
  const Scenario kvbm = loaded(intake_of("DYN_KVBM_CPU_CACHE_GB=10\n", options));
  CHECK(kvbm.tier->capacity.count == 10'000'000'000);
  const Scenario trtllm =
      loaded(intake_of("kv_cache_config:\n  host_cache_size: 4000000000\n", options));
  CHECK(trtllm.tier->capacity.count == 4'000'000'000);
}

TEST_CASE("fields that KServe prunes are told", "[scenarios]") {
  const std::string service =
      "apiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceService\nmetadata: {name: q}\n"
      "spec:\n  replica: 3\n  model: {uri: hf://Qwen/Qwen3-8B, nam: chat}\n"
      "  kvCacheOffloading:\n    cpus: 16Gi\n    evictonPolicy: arc\n";
  const Intake intake = intake_of(service);
  CHECK(says(intake, Standing::kUnknown,
             "spec.kvCacheOffloading.cpus: f:8: did you mean cpu? KServe does not know the field"));
  CHECK(says(intake, Standing::kUnknown, "evictonPolicy: f:9: did you mean evictionPolicy?"));
  CHECK(says(intake, Standing::kUnknown, "spec.replica: f:5: did you mean replicas?"));
  CHECK(says(intake, Standing::kUnknown, "spec.model.nam: f:6: did you mean name?"));
  CHECK(loaded(intake).tier->capacity.count == 0);
}

TEST_CASE("quantities are those of Kubernetes", "[scenarios]") {
  CHECK(quantity_bytes("10Gi") == std::int64_t{10} << 30);
  CHECK(quantity_bytes("1.5k") == 1500);
  CHECK(quantity_bytes("2e3M") == 2'000'000'000);
  CHECK(quantity_bytes("7") == 7);
  for (const char* text : {"", "Gi", "-1Gi", "10GB", "ten", "1e30"}) {
    INFO(text);
    CHECK_FALSE(quantity_bytes(text));
  }
}

}  // namespace
}  // namespace spillway::test
