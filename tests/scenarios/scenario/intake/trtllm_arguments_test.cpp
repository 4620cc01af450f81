// What becomes of trtllm-serve's flags and of the file of options beside them.
#include <algorithm>

#include "models/releases/trtllm_config.hpp"
#include "scenarios/scenario/intake/trtllm_options.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/scenario/intake/intake_setup.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {
namespace {

IntakeOptions options_of_h100() {
  IntakeOptions options;
  options.gpu = "H100";
  return options;
}

Intake on_h100(const std::string& text) {
  return intake_of(text, options_of_h100());
}

/// With the lines as a file that the script writes.
std::string serve(const std::string& flags, const std::string& lines = "") {
  if (lines.empty()) return "trtllm-serve Qwen3-14B " + flags;
  return "cat > o.yaml <<'EOF'\n" + lines + "\nEOF\ntrtllm-serve Qwen3-14B --config o.yaml " +
         flags;
}

std::string refused_on_h100(const std::string& text) {
  return refusal(text, options_of_h100());
}

TEST_CASE("every option of TensorRT-LLM stands in its table once", "[scenarios]") {
  std::vector<std::string_view> names;
  for (const FlagRow& row : trtllm_options()) {
    INFO(row.name);
    if (!row.alias.empty()) CHECK(find_trtllm_flag(row.alias) == &row);
    if (row.use == FlagUse::kKey) CHECK(row.key.starts_with("engine."));
    if (row.use == FlagUse::kNotModelled || row.use == FlagUse::kNoEffect) {
      CHECK_FALSE(row.note.empty());
    }
    names.push_back(row.name);
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  CHECK(find_trtllm_flag("--tp_size")->name == "tensor_parallel_size");
}

TEST_CASE("flags of trtllm-serve become keys, however they are spelled", "[scenarios]") {
  for (const char* start :
       {"trtllm-serve ", "trtllm-serve serve ", "python3 -m tensorrt_llm.commands.serve ",
        "docker run --gpus all nvcr.io/nvidia/tensorrt-llm/release:1.2.0 trtllm-serve ",
        "mpirun -n 1 trtllm-llmapi-launch trtllm-serve "}) {
    INFO(start);
    const Scenario s =
        loaded(on_h100(std::string(start) +
                       "Qwen/Qwen3-14B --tp_size 2 --max_batch_size=64 --max_num_tokens "
                       "4096 --max-seq-len 16384 --kv_cache_free_gpu_memory_fraction 0.5 "
                       "--enable_chunked_prefill"));
    CHECK(s.preset == "trtllm@1.2");
    CHECK(s.engine.tensor_parallel == 2);
    CHECK(s.engine.max_num_seqs == 64);
    CHECK(s.engine.max_num_batched_tokens == 4096);
    CHECK(s.engine.trtllm.max_seq_len == 16384);
    CHECK(s.gpu_memory_utilization == 0.5);
    CHECK(s.engine.chunked_prefill);
  }
}

TEST_CASE("the file of options overrides flags, level by level", "[scenarios]") {
  const Intake intake =
      on_h100(serve("--max_num_tokens 2048 --kv_cache_free_gpu_memory_fraction 0.6 --tp_size 2",
                    "max_num_tokens: 4096\n"
                    "kv_cache_config:\n"
                    "  host_cache_size: 1000000000  # of each rank\n"
                    "  enable_partial_reuse: false\n"
                    "  dtype: fp8\n"
                    "scheduler_config: {capacity_scheduler_policy: MAX_UTILIZATION}\n"
                    "cuda_graph_config:\n"
                    "  batch_sizes: [1, 2, 32]\n"
                    "disable_overlap_scheduler: true"));
  const Scenario s = loaded(intake);
  CHECK(s.engine.max_num_batched_tokens == 4096);
  CHECK(says(intake, Standing::kNoEffect, "--max_num_tokens 2048: o.yaml has max_num_tokens"));
  CHECK(s.gpu_memory_utilization == 0.6);
  CHECK(s.tier->capacity.count == 2'000'000'000);
  CHECK_FALSE(s.engine.trtllm.partial_reuse);
  CHECK(s.engine.trtllm.block_reuse);
  CHECK(s.engine.trtllm.capacity == CapacityPolicy::kMaxUtilization);
  CHECK(s.compute->graph_tokens == 32);
  CHECK_FALSE(says(intake, Standing::kNotModelled, ""));
}

TEST_CASE("the file is found in a script, a ConfigMap and beside the input", "[scenarios]") {
  // Variables of the script hold in the file too.
  CHECK(loaded(on_h100("N=16\nF=/no/such.yaml\ncat <<EOF > $F\nmax_batch_size: ${N}\nEOF\n"
                       "trtllm-serve Qwen3-14B --extra_llm_api_options $F"))
            .engine.max_num_seqs == 16);
  CHECK(loaded(on_h100("tee o.yaml <<-'END'\n\tmax_batch_size: 17\n\tEND\n"
                       "trtllm-serve Qwen3-14B --config ./o.yaml"))
            .engine.max_num_seqs == 17);
  const Scratch folder;
  folder.file("o.yaml", "max_batch_size: 18\n");
  IntakeOptions options;
  options.gpu = "H100";
  const Intake beside = make_scenario(
      {{folder.path("run.sh"), "trtllm-serve Qwen3-14B --config /etc/trt/o.yaml"}}, options);
  CHECK(loaded(beside).engine.max_num_seqs == 18);
  const Intake missing = on_h100("trtllm-serve Qwen3-14B --config /etc/trt/o.yaml");
  CHECK(says(missing, Standing::kNotModelled, "--config /etc/trt/o.yaml: the file was not found"));
}

TEST_CASE("what of TensorRT-LLM is not modelled is named", "[scenarios]") {
  const Intake intake = on_h100(serve("--backend tensorrt --ep_size 2 --max_beam_width 1",
                                      "speculative_config:\n  decoding_type: MTP\n"
                                      "kv_cache_config:\n  use_kv_cache_manager_v2: true\n"
                                      "  onboard_blocks: true\n  max_attention_window: [512]\n"
                                      "stream_interval: 20\nno_such_option: 1\nattn_bakend: X"));
  CHECK(says(intake, Standing::kNotModelled, "--backend tensorrt"));
  CHECK(says(intake, Standing::kNotModelled, "--ep_size 2"));
  CHECK(says(intake, Standing::kUsed, "--max_beam_width 1: as it is here"));
  CHECK(says(intake, Standing::kNotModelled, "speculative_config: a decode makes one token"));
  CHECK(says(intake, Standing::kUsed, "kv_cache_config.use_kv_cache_manager_v2: true"));
  CHECK(says(intake, Standing::kUsed, "kv_cache_config.onboard_blocks: true"));
  CHECK(says(intake, Standing::kNotModelled, "kv_cache_config.max_attention_window: [512]"));
  CHECK(says(intake, Standing::kNotModelled, "stream_interval: 20"));
  CHECK(says(intake, Standing::kUnknown, "no_such_option"));
  CHECK(says(intake, Standing::kUnknown, "did you mean attn_backend?"));
  // The overlap scheduler is on by default.
  CHECK(says(intake, Standing::kNotModelled, "disable_overlap_scheduler: false"));
}

TEST_CASE("TensorRT-LLM's pipelines and data parallelism are refused by name", "[scenarios]") {
  CHECK_THAT(refused_on_h100(serve("--pp_size 2")),
             ContainsSubstring("--pp_size: expected 1: a pipeline of TensorRT-LLM"));
  CHECK_THAT(refused_on_h100(serve("--cp_size 2")), ContainsSubstring("context parallelism"));
  CHECK_THAT(refused_on_h100(serve("", "enable_attention_dp: true")),
             ContainsSubstring("o.yaml: enable_attention_dp: expected false"));
  CHECK_THAT(refused_on_h100(serve("", "pipeline_parallel_size: 4")),
             ContainsSubstring("o.yaml: pipeline_parallel_size: expected 1"));
  CHECK_NOTHROW(on_h100(serve("--pp_size 1", "enable_attention_dp: false")));
  CHECK_THAT(refused_on_h100(serve("--max_batch_size many")),
             ContainsSubstring("--max_batch_size: expected a whole number, found \"many\""));
  CHECK_THAT(refused_on_h100(serve("", "enable_chunked_prefill: 3")),
             ContainsSubstring("expected true or false"));
}

}  // namespace
}  // namespace spillway::test
