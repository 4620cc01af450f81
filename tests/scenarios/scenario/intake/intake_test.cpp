// What becomes of a command line, a manifest, a log, a config.json.
#include "scenarios/scenario/intake/intake.hpp"

#include "models/catalogue/gpu_spec.hpp"
#include "models/catalogue/model_name.hpp"
#include "scenarios/scenario/intake/vllm_flags.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/scenario/intake/intake_setup.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

Scenario served(const std::string& arguments, IntakeOptions options = {}) {
  return loaded(intake_of("vllm serve " + arguments, std::move(options)));
}

TEST_CASE("every flag of the table is known under its names once", "[scenarios]") {
  std::vector<std::string_view> names;
  for (const FlagRow& flag : vllm_flags()) {
    INFO(flag.name);
    CHECK(find_vllm_flag(flag.name) == &flag);
    if (!flag.alias.empty()) CHECK(find_vllm_flag(flag.alias) == &flag);
    CHECK((flag.use == FlagUse::kKey) == !flag.key.empty());
    if (flag.use == FlagUse::kNotModelled) CHECK_FALSE(flag.note.empty());
    names.push_back(flag.name);
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("flags become keys of the scenario, however they are spelled", "[scenarios]") {
  for (const char* text :
       {"Qwen/Qwen3-14B --tensor-parallel-size 2 --max-model-len 16k --max-num-seqs 64",
        "Qwen/Qwen3-14B -tp 2 --max_model_len=16000 --max-num-seq 64",
        "--model Qwen/Qwen3-14B -tp=2 --max-model-len 16000 --max-num-seqs=64"}) {
    INFO(text);
    const Scenario s = served(text);
    CHECK(s.engine.tensor_parallel == 2);
    CHECK(s.engine.max_model_len == 16000);
    CHECK(s.engine.max_num_seqs == 64);
  }
  CHECK(served("Qwen3-14B --max-model-len 16K").engine.max_model_len == 16384);
  CHECK_FALSE(served("Qwen3-14B --no-enable-prefix-caching").engine.enable_prefix_caching);
  CHECK_FALSE(served("Qwen3-14B --enable-chunked-prefill False --max-num-batched-tokens 65536")
                  .engine.chunked_prefill);
  CHECK(served("Qwen3-14B --kv-cache-dtype fp8_e4m3").model->kv_dtype == KvDtype::kFp8);
}

TEST_CASE("the offload of vLLM becomes tiers in all its spellings", "[scenarios]") {
  const std::string gib64 = "68719476736";
  for (const std::string& text :
       {std::string("--kv-offloading-backend native --kv-offloading-size 64"),
        "--kv-transfer-config '{\"kv_connector\": \"OffloadingConnector\", \"kv_role\": "
        "\"kv_both\", \"kv_connector_extra_config\": {\"cpu_bytes_to_use\": " +
            gib64 + "}}'",
        "--kv-transfer-config.kv_connector OffloadingConnector "
        "--kv-transfer-config.kv_connector_extra_config.cpu_bytes_to_use " +
            gib64}) {
    INFO(text);
    const Scenario s = served("Qwen3-14B " + text);
    REQUIRE(s.tier);
    CHECK(s.tier->capacity.count == std::int64_t{64} << 30);
  }
}

TEST_CASE("LMCache's settings become tiers, of all ranks together", "[scenarios]") {
  const std::string serve =
      "vllm serve Qwen3-14B -tp 2 --kv-transfer-config '{\"kv_connector\": "
      "\"LMCacheConnectorV1\", \"kv_role\": \"kv_both\"}'";
  const Intake plain = intake_of(serve);
  CHECK(says(plain, Standing::kAssumed, "max_local_cpu_size"));
  CHECK(loaded(plain).engine.connector == ConnectorKind::kLmcache);
  CHECK(loaded(plain).tier->capacity.count == (std::int64_t{10} << 30));  // 5 GiB of each rank
  const Intake all = intake_of(
      "LMCACHE_CHUNK_SIZE=128 LMCACHE_MAX_LOCAL_CPU_SIZE=20 LMCACHE_MAX_LOCAL_DISK_SIZE=100.5 "
      "LMCACHE_REMOTE_URL=redis://cache:6379 LMCACHE_REMOTE_SERDE=cachegen "
      "LMCACHE_CACHE_POLICY=LFU "
      "LMCACHE_SAVE_DECODE_CACHE=True LMCACHE_NO_SUCH=1 " +
      serve);
  const Scenario s = loaded(all);
  CHECK(s.engine.lmcache.chunk_tokens == 128);
  CHECK(s.engine.lmcache.save_decode_cache);
  CHECK(s.tier->capacity.count == (std::int64_t{40} << 30));
  CHECK(s.tier->order == ChunkOrder::kLfu);
  REQUIRE(s.behind.size() == 2);
  CHECK(s.behind[0].kind() == "nvme");
  CHECK(s.behind[0].capacity.count == (std::int64_t{201} << 30));
  CHECK(s.behind[1].kind() == "kv");
  CHECK(s.behind[1].scope == Scope::kCluster);
  CHECK(s.behind[1].serde.ratio == 3.5);
  CHECK(says(all, Standing::kNotModelled, "LMCACHE_NO_SUCH=1"));
}

TEST_CASE("llm-d's backend and LMCache's server are known by their connectors", "[scenarios]") {
  const Scenario files = served(
      "Qwen3-14B --kv-transfer-config '{\"kv_connector\": \"OffloadingConnector\", "
      "\"kv_connector_extra_config\": {\"spec_name\": \"SharedStorageOffloadingSpec\", "
      "\"block_size\": 512, \"threads_per_gpu\": 128}}'");
  CHECK(files.engine.connector == ConnectorKind::kLlmdFs);
  CHECK(files.engine.llmd.block_size == 512);
  CHECK(files.engine.llmd.threads == 128);
  const Intake mp = intake_of(
      "vllm serve Qwen3-14B --kv-transfer-config '{\"kv_connector\": \"LMCacheMPConnector\"}'");
  CHECK(loaded(mp).engine.connector == ConnectorKind::kLmcacheMp);
  CHECK(says(mp, Standing::kAssumed, "--l1-size-gb"));
  const Intake both = intake_of(
      "vllm serve Qwen3-14B --kv-transfer-config '{\"kv_connector\": \"MultiConnector\", "
      "\"kv_connector_extra_config\": {\"connectors\": [{\"kv_connector\": "
      "\"OffloadingConnector\", \"kv_connector_extra_config\": {\"cpu_bytes_to_use\": "
      "68719476736}}, {\"kv_connector\": \"LMCacheMPConnector\"}]}}'");
  CHECK(loaded(both).engine.connector == ConnectorKind::kHybrid);
  CHECK(loaded(both).behind.size() == 1);
}

TEST_CASE("prices are assumed where there is a tier to plan", "[scenarios]") {
  const std::string command = "vllm serve Qwen3-14B";
  REQUIRE(loaded(intake_of(command)).plan);
  CHECK(loaded(intake_of(command)).plan->prices == "list-2025");
  CHECK(says(intake_of(command), Standing::kAssumed, "list prices of 2025"));
  IntakeOptions v0;
  v0.release = "0.6.3";
  CHECK_FALSE(loaded(intake_of(command, v0)).plan);
}

TEST_CASE("what nobody said is assumed and told; what is unknown is listed", "[scenarios]") {
  const Intake intake =
      intake_of("vllm serve Qwen3-14B --no-such-flag 7 --speculative-config '{}' --port 1");
  CHECK(says(intake, Standing::kAssumed, "gpu"));
  CHECK(says(intake, Standing::kAssumed, "workload"));
  CHECK(says(intake, Standing::kAssumed, "slo"));
  CHECK(says(intake, Standing::kUnknown, "--no-such-flag 7"));
  CHECK(says(intake, Standing::kNotModelled, "--speculative-config"));
  CHECK(says(intake, Standing::kNoEffect, "--port 1"));
  CHECK_FALSE(intake.model_assumed);
  const Intake placeholder = intake_of("vllm serve $MODEL");
  CHECK(placeholder.model_assumed);
  CHECK(says(placeholder, Standing::kAssumed, "$MODEL"));
  const Intake gguf = intake_of("vllm serve unsloth/Qwen3-8B-GGUF");
  CHECK(gguf.model_assumed);
  CHECK(says(gguf, Standing::kAssumed, "Give --config config.json of the original model"));
}

TEST_CASE("blocks decide the pool before bytes, and bytes before the share", "[scenarios]") {
  const std::string command =
      "vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.8 --kv-cache-memory-bytes 20G";
  // 20 GiB in blocks of 16 tokens x 144 KiB (36 layers x 8 heads x 128 x 2 x 2 B) = 2.25 MiB.
  const Intake bytes = intake_of(command);
  CHECK(loaded(bytes).engine.num_gpu_blocks == 9102);
  CHECK(says(bytes, Standing::kNoEffect, "engine.kv_cache_memory decides the pool"));
  const Intake blocks = intake_of(command + " --num-gpu-blocks-override 5000");
  CHECK(loaded(blocks).engine.num_gpu_blocks == 5000);
  CHECK(loaded(blocks).gpu_memory_utilization == 0.8);
  CHECK(says(blocks, Standing::kNoEffect, "engine.num_gpu_blocks decides the pool"));
  CHECK(refusal("vllm serve Qwen3-8B --kv-cache-memory-bytes none").find("a number of bytes") !=
        std::string::npos);
}

TEST_CASE("names of checkpoints are the models that they were made from", "[scenarios]") {
  const auto model = [](const char* name) {
    const NamedModel named = named_model(name);
    return (named.spec == nullptr ? std::string("none") : std::string(named.spec->name)) + " " +
           named.weight_dtype;
  };
  CHECK(model("Qwen/Qwen3-14B-AWQ") == "Qwen/Qwen3-14B int4");
  CHECK(model("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8") == "Qwen/Qwen2.5-72B-Instruct int8");
  CHECK(model("RedHatAI/Meta-Llama-3.1-70B-Instruct-quantized.w8a8") ==
        "meta-llama/Meta-Llama-3.1-70B w8a8");
  CHECK(model("/models/Llama-3.1-8B-Instruct-FP8-dynamic/") == "meta-llama/Meta-Llama-3.1-8B fp8");
  CHECK(named_model("deepseek-ai/DeepSeek-V3-0324").match == NamedModel::Match::kVariant);
  // Of the catalogue's dense models 8.03B is nearest to 9B by ratio.
  const NamedModel nine = named_model("org/Unheard-9B-it");
  CHECK(nine.match == NamedModel::Match::kSize);
  CHECK(named_model("org/unheard").match == NamedModel::Match::kNone);
}

TEST_CASE("a release is simulated as the nearest of its generation", "[scenarios]") {
  const auto preset = [](const std::string& text, const std::string& release = "") {
    IntakeOptions options;
    options.release = release;
    return served(text, options).preset;
  };
  CHECK(preset("Qwen3-14B", "0.8.5") == "vllm@0.12");  // v1 never becomes v0
  CHECK(preset("Qwen3-14B", "0.6.3") == "vllm@0.6");
  CHECK(preset("Qwen3-14B", "0.40") == "vllm@0.25");
  CHECK(preset("Qwen3-14B", "0.19.1") == "vllm@0.19");
  CHECK(loaded(intake_of("docker run vllm/vllm-openai:v0.11.0 Qwen/Qwen3-14B")).preset ==
        "vllm@0.12");
  CHECK(loaded(intake_of("VLLM_USE_V1=0 vllm serve Qwen/Qwen3-14B")).preset == "vllm@0.6");
  CHECK(load_scenario(
            JsonSource::from_text(
                "s", R"({"model": "Qwen3-14B", "gpu": "H100", "engine": {"preset": "vllm@0.9.2"},)"
                     R"( "workload": {"synthetic": {"requests": 5}}})"))
            .preset == "vllm@0.12");
}

constexpr const char* kManifest = R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  replicas: 3
  template:
    spec:
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
      containers:
        - name: proxy
          image: envoyproxy/envoy:v1.30
          args: ["--port=1"]
        - name: engine
          image: vllm/vllm-openai:v0.19.0
          command: ["/bin/sh", "-c"]
          args:
            - exec vllm serve $(MODEL) --max-num-seqs ${SEQS}
          env:
            - {name: MODEL, value: Qwen/Qwen3-32B}
            - {name: SEQS, value: "48"}
          resources: {limits: {nvidia.com/gpu: 1}}
)";

TEST_CASE("a manifest gives the command, its variables, replicas, release and GPU", "[scenarios]") {
  const Scenario s = loaded(intake_of(kManifest));
  CHECK(s.model->spec->name == "Qwen/Qwen3-32B");
  CHECK(s.engine.max_num_seqs == 48);
  CHECK(s.fleet->replicas == 3);
  CHECK(s.preset == "vllm@0.19");
  CHECK(s.gpu->name == "H100-SXM5-80GB");
}

TEST_CASE("a slice of a GPU has its share of the whole", "[scenarios]") {
  std::string text = kManifest;
  const auto put = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  put("nvidia.com/gpu: 1", "nvidia.com/mig-3g.40gb: 1");
  put("Qwen/Qwen3-32B", "Qwen/Qwen3-8B");
  const Scenario s = loaded(intake_of(text));
  const GpuSpec& whole = find_gpu("H100", {});
  CHECK(s.gpu->name == "H100-SXM5-80GB MIG 3g.40gb");
  CHECK(s.gpu->sm_count == whole.sm_count * 3 / 7);
  CHECK(s.gpu->memory_bytes == whole.memory_bytes / 2);
  CHECK(s.gpu->memory_gbs == Approx(whole.memory_gbs / 2));
  CHECK(s.gpu->bf16_tflops == Approx(whole.bf16_tflops * 3 / 7));
}

TEST_CASE("a log gives arguments, release and pool", "[scenarios]") {
  const Scenario s = loaded(
      intake_of("INFO 01-01 00:00:00 [api_server.py:1] vLLM API server version 0.14.1\n"
                "INFO 01-01 00:00:00 [utils.py:1] non-default args: {'model': 'Qwen/Qwen3-8B', "
                "'max_num_seqs': 32, 'enable_prefix_caching': False, 'kv_transfer_config': "
                "KVTransferConfig(kv_connector='OffloadingConnector', kv_role='kv_both', "
                "kv_connector_extra_config={'cpu_bytes_to_use': 1073741824}), 'port': 8001}\n"
                "INFO 01-01 00:00:09 [kv_cache_utils.py:1] GPU KV cache size: 160,000 tokens\n"));
  CHECK(s.preset == "vllm@0.14");
  CHECK(s.engine.max_num_seqs == 32);
  CHECK_FALSE(s.engine.enable_prefix_caching);
  CHECK(s.engine.num_gpu_blocks == 10'000);  // 160,000 tokens / 16
  CHECK(s.tier->capacity.count == 1 << 30);
}

TEST_CASE("a config.json has the shape that the catalogue has", "[scenarios]") {
  // Qwen3-30B-A3B as published: the catalogue counts its weights from the checkpoint.
  const Scenario s = loaded(intake_of(R"({"model_type": "qwen3_moe", "hidden_size": 2048,
    "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
    "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128,
    "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": 151936,
    "max_position_embeddings": 40960, "tie_word_embeddings": false})"));
  const ModelSpec& known = find_model("Qwen3-30B-A3B", {});
  CHECK(s.model->kv_bytes_per_token.count() == 98304);  // 48 layers x 2 x 4 heads x 128 x 2 bytes
  CHECK(s.model->spec->experts == known.experts);
  CHECK(double(s.model->spec->params_total) == Approx(double(known.params_total)).epsilon(0.005));
}

TEST_CASE("a quantised config.json holds its weights in that type", "[scenarios]") {
  const auto weights = [](const char* quantization) {
    const Scenario s = loaded(intake_of(fmt::format(
        R"({{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
        "vocab_size": 128256, "max_position_embeddings": 8192, "quantization_config": {}}})",
        quantization)));
    REQUIRE(s.model->weights);
    return s.model->weights->dtype;
  };
  CHECK(weights(R"({"quant_method": "awq", "bits": 4, "group_size": 128})") == "int4");
  CHECK(weights(R"({"quant_method": "gptq", "bits": 8})") == "int8");
  CHECK(weights(R"({"quant_method": "fp8"})") == "fp8");
  CHECK(weights(R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
      {"weights": {"num_bits": 8, "type": "float"}}}})") == "fp8");
}

TEST_CASE("bad input is refused with what was expected", "[scenarios]") {
  CHECK_THAT(refusal("apiVersion: v1\nkind: Pod\nspec: [\n"), ContainsSubstring("not YAML"));
  CHECK_THAT(refusal("kind: Pod\nspec:\n  containers:\n    - name: web\n      image: nginx\n"),
             ContainsSubstring("TensorRT-LLM (containers seen: web)"));
  CHECK_THAT(refusal("vllm serve 'Qwen3-14B"), ContainsSubstring("never closed"));
  CHECK_THAT(refusal("vllm serve Qwen3-14B --max-num-seqs many"),
             ContainsSubstring("--max-num-seqs: expected a whole number, found \"many\""));
  CHECK_THAT(refusal(R"({"model_type": "llama", "hidden_size": 4096})"),
             ContainsSubstring("num_hidden_layers: missing; expected a whole number"));
  IntakeOptions options;
  options.gpu = "H1000";
  CHECK_THAT(refusal("vllm serve Qwen3-14B", options), ContainsSubstring("--gpu: unknown GPU"));
  options = {};
  options.release = "new";
  CHECK_THAT(refusal("vllm serve Qwen3-14B", options), ContainsSubstring("expected a release"));
}

}  // namespace
}  // namespace spillway::test
