#include "scenarios/scenario/flags/trtllm_flags.hpp"

#include <fmt/format.h>

#include "models/catalogue/model_spec.hpp"
#include "models/releases/host_sizes.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

constexpr std::string_view kFile = "options.yaml";

/// What has no flag of trtllm-serve stands in the file that --extra_llm_api_options names.
class TrtllmFlags {
 public:
  TrtllmFlags(const Scenario& scenario, const EnginePreset& release) : s_(scenario) {
    out_.engine = "trtllm";
    out_.release = release.name;
    out_.files.push_back({std::string(kFile), {}});
  }

  EngineFlags write(const Capacity& capacity) {
    const EngineConfig& e = s_.engine;
    if (e.tensor_parallel > 1) add(fmt::format("--tp_size {}", e.tensor_parallel));
    add(fmt::format("--max_batch_size {}", e.max_num_seqs));
    add(fmt::format("--max_num_tokens {}", e.max_num_batched_tokens));
    const auto longest = static_cast<std::int32_t>(e.trtllm.max_seq_len);
    const bool own = s_.model->spec != nullptr && longest == s_.model->spec->max_position;
    if (longest > 0 && !own) add(fmt::format("--max_seq_len {}", longest));
    add_cache(capacity);
    add(fmt::format("--extra_llm_api_options {}", kFile));
    add_steps();
    if (s_.fleet->replicas > 1) {
      say(fmt::format("of each of {} instances, all alike", s_.fleet->replicas));
    }
    say_not_covered();
    return std::move(out_);
  }

 private:
  void add(std::string argument) { out_.arguments.push_back(std::move(argument)); }
  void say(std::string comment) { out_.comments.push_back(std::move(comment)); }
  void leave(std::string what) { out_.not_covered.push_back(std::move(what)); }
  void line(std::string text) { out_.files.front().lines.push_back(std::move(text)); }
  template <class Value>
  void put(std::string_view key, const Value& value) {
    line(fmt::format("  {}: {}", key, value));
  }

  void add_cache(const Capacity& capacity) {
    const EngineConfig& e = s_.engine;
    const TrtllmConfig& t = e.trtllm;
    line("kv_cache_config:");
    put("tokens_per_block", e.block_tokens);
    // V2 makes its pool larger than max_tokens, by what resumed requests leave of it.
    constexpr std::int64_t kMillion = 1'000'000;
    const std::int64_t share = t.v2() ? t.resume_ppm : kMillion;
    const std::int64_t tokens =
        std::int64_t{e.num_gpu_blocks} * e.block_tokens * share / kMillion;
    if (!s_.pool_given) {
      add(fmt::format("--kv_cache_free_gpu_memory_fraction {}", s_.gpu_memory_utilization));
      say(
          fmt::format("kv_cache_free_gpu_memory_fraction: {} blocks of {} tokens here. "
                      "TensorRT-LLM's log says as primary blocks what it really leaves",
                      e.num_gpu_blocks, e.block_tokens));
    }
    if (s_.pool_given || t.max_tokens > 0) {
      put("max_tokens", t.max_tokens > 0 ? t.max_tokens : tokens);
      say(
          fmt::format("max_tokens: {} blocks of {} tokens on each GPU. It only lowers what "
                      "free_gpu_memory_fraction leaves",
                      e.num_gpu_blocks, e.block_tokens));
    }
    put("enable_block_reuse", t.block_reuse);
    put("enable_partial_reuse", t.partial_reuse);
    if (t.v2()) {
      put("use_kv_cache_manager_v2", true);
      put("max_util_for_resume", static_cast<double>(t.resume_ppm) / kMillion);
    } else {
      put("copy_on_partial_reuse", t.copy_on_partial_reuse);
    }
    if (s_.model->kv_dtype == KvDtype::kFp8) put("dtype", "fp8");
    if (s_.model->kv_dtype == KvDtype::kFp4) put("dtype", "nvfp4");
    if (s_.tier) add_host(capacity);
  }

  /// Bytes of each rank.
  void add_host(const Capacity& capacity) {
    if (capacity.kind == Capacity::Kind::kUnbounded) return;
    const std::int64_t bytes = bytes_of(capacity);
    const std::int64_t each = host_size_of("trtllm").value_for(bytes, s_.world());
    put("host_cache_size", each);
    if (!s_.engine.trtllm.v2()) {
      put("secondary_offload_min_priority", s_.engine.trtllm.offload_min_priority);
    }
    if (!s_.behind.empty()) {
      const std::int64_t disk = bytes_of(s_.behind.front().capacity);
      put("disk_cache_size", host_size_of("trtllm").value_for(disk, s_.world()));
      put("disk_cache_path", "/path/on/the/disk");
    }
    say(fmt::format("host_cache_size: {} bytes / {} {} = {} bytes", bytes, s_.world(),
                    s_.world() == 1 ? "rank" : "ranks", each));
  }

  std::int64_t bytes_of(const Capacity& capacity) const {
    const bool blocks = capacity.kind == Capacity::Kind::kBlocks;
    return blocks ? capacity.count * s_.tier_block_bytes().count() : capacity.count;
  }

  void add_steps() {
    const EngineConfig& e = s_.engine;
    line("scheduler_config:");
    put("capacity_scheduler_policy",
        kCapacityPolicyNames[static_cast<std::size_t>(e.trtllm.capacity)]);
    line(fmt::format("enable_chunked_prefill: {}", e.chunked_prefill));
    line("disable_overlap_scheduler: true");
    if (s_.compute->graph_tokens == 0) {
      line("cuda_graph_config: null");
    } else if (s_.compute->graphs_matter()) {
      line("cuda_graph_config:");
      put("max_batch_size", s_.compute->graph_tokens);
      put("enable_padding", true);
    }
    // Else alerts and dashboards see nothing (tensorrt_llm/metrics/collector.py).
    line("enable_iter_perf_stats: true");
    line("return_perf_metrics: true");
  }

  void say_not_covered() {
    const TrtllmConfig& t = s_.engine.trtllm;
    if (s_.model->weights) {
      leave(fmt::format("weights in {}: TensorRT-LLM takes them as the checkpoint has them",
                        s_.model->weights->dtype));
    }
    if (!t.claim_before_onboard) {
      leave("claim_before_onboard false: the release decides, no option does");
    }
    if (t.retention.prompt || t.retention.decode) {
      leave("retention of the workload: each request says it (KvCacheRetentionConfig)");
    }
  }

  const Scenario& s_;
  EngineFlags out_;
};

}  // namespace

EngineFlags trtllm_flags(const Scenario& scenario, const Capacity& capacity,
                         const EnginePreset& release) {
  return TrtllmFlags(scenario, release).write(capacity);
}

}  // namespace spillway
