#include "scenarios/scenario/flags/trtllm_flags.hpp"

#include <fmt/format.h>

#include <iterator>

#include "models/catalogue/model_spec.hpp"
#include "models/releases/host_sizes.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

/// What has no flag of trtllm-serve stands in the file that --extra_llm_api_options names.
class TrtllmFlags {
 public:
  TrtllmFlags(const Scenario& scenario, const EnginePreset& release) : s_(scenario) {
    out_.engine = "trtllm";
    out_.release = release.name;
  }

  EngineFlags write(const Capacity& capacity) {
    const EngineConfig& e = s_.engine;
    const TrtllmConfig& t = e.trtllm;
    if (e.tensor_parallel > 1) add(fmt::format("--tp_size {}", e.tensor_parallel));
    add(fmt::format("--max_batch_size {}", e.max_num_seqs));
    add(fmt::format("--max_num_tokens {}", e.max_num_batched_tokens));
    const bool own = s_.model->spec != nullptr &&
                     static_cast<std::int32_t>(t.max_seq_len) == s_.model->spec->max_position;
    if (t.max_seq_len > 0 && !own) add(fmt::format("--max_seq_len {}", t.max_seq_len));
    add("--extra_llm_api_options options.yaml");
    say(fmt::format("options.yaml: kv_cache_config: {{{}}}", cache(capacity)));
    say(fmt::format("options.yaml: scheduler_config: {{capacity_scheduler_policy: {}}}",
                    kCapacityPolicyNames[static_cast<std::size_t>(t.capacity)]));
    say(fmt::format("options.yaml: enable_chunked_prefill: {}", e.chunked_prefill));
    say("options.yaml: disable_overlap_scheduler: true");
    if (s_.compute->graph_tokens == 0) say("options.yaml: cuda_graph_config: null");
    if (s_.fleet->replicas > 1) {
      say(fmt::format("of each of {} instances, all alike", s_.fleet->replicas));
    }
    if (t.retention.prompt || t.retention.decode) {
      out_.not_covered.emplace_back(
          "retention of the workload: each request says it (KvCacheRetentionConfig)");
    }
    return std::move(out_);
  }

 private:
  void add(std::string argument) { out_.arguments.push_back(std::move(argument)); }
  void say(std::string comment) { out_.comments.push_back(std::move(comment)); }

  /// `max_tokens` only lowers what free_gpu_memory_fraction leaves. V2 makes its pool larger than
  /// that, by what resumed requests leave of it.
  std::string cache(const Capacity& capacity) const {
    const EngineConfig& e = s_.engine;
    const TrtllmConfig& t = e.trtllm;
    constexpr std::int64_t kMillion = 1'000'000;
    const std::int64_t share = t.v2() ? t.resume_ppm : kMillion;
    std::string out =
        fmt::format("tokens_per_block: {}, max_tokens: {}", e.block_tokens,
                    std::int64_t{e.num_gpu_blocks} * e.block_tokens * share / kMillion);
    const auto put = [&](std::string_view key, const auto& value) {
      fmt::format_to(std::back_inserter(out), ", {}: {}", key, value);
    };
    put("enable_block_reuse", t.block_reuse);
    put("enable_partial_reuse", t.partial_reuse);
    if (t.v2()) {
      put("use_kv_cache_manager_v2", true);
      put("max_util_for_resume", static_cast<double>(t.resume_ppm) / kMillion);
    } else {
      put("copy_on_partial_reuse", t.copy_on_partial_reuse);
    }
    if (!s_.tier || capacity.kind == Capacity::Kind::kUnbounded) return out;
    put("host_cache_size", size_of(capacity));
    if (!t.v2()) put("secondary_offload_min_priority", t.offload_min_priority);
    if (!s_.behind.empty()) {
      put("disk_cache_size", size_of(s_.behind.front().capacity));
      put("disk_cache_path", "/path/on/the/disk");
    }
    return out;
  }

  /// Of a rank, in bytes.
  std::int64_t size_of(const Capacity& capacity) const {
    const bool blocks = capacity.kind == Capacity::Kind::kBlocks;
    const std::int64_t bytes =
        blocks ? capacity.count * s_.tier_block_bytes().count() : capacity.count;
    return host_size_of("trtllm").value_for(bytes, s_.world());
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
