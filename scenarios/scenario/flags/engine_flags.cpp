#include "scenarios/scenario/flags/engine_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/catalogue/gpu_spec.hpp"
#include "models/compute/graph_sizes.hpp"
#include "models/releases/kv_groups.hpp"
#include "scenarios/scenario/flags/engine_policies.hpp"
#include "scenarios/scenario/flags/mooncake_flags.hpp"
#include "scenarios/scenario/flags/offload_flags.hpp"
#include "scenarios/scenario/flags/sglang_flags.hpp"
#include "scenarios/scenario/flags/trtllm_flags.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"

namespace spillway {

namespace {

bool is_v0(EngineFamily family) {
  return family == EngineFamily::kVllmV0;
}

class FlagWriter {
 public:
  FlagWriter(const Scenario& scenario, const EnginePreset& release)
      : s_(scenario), release_(release), defaults_(engine_defaults(release, scenario.gpu)) {
    out_.engine = std::string(release.name.substr(0, release.name.find('@')));
    out_.release = release.name;
  }

  EngineFlags write(const Capacity& capacity) {
    if (capacity.kind == Capacity::Kind::kUnbounded) {
      if (s_.tier) {
        out_.not_covered.push_back(fmt::format(
            "the size of {}: no flag says \"without a bound\"; expected one, e.g. 64GiB",
            s_.tier->name));
      }
    } else if (is_v0(release_.family)) {
      add_swap_flags(s_, capacity, out_);
    } else {
      add_offload_flags(s_, capacity, release_, out_);
    }
    add_ranks();
    add_pool();
    add_batch();
    add_model();
    add_switches();
    say_not_covered();
    return std::move(out_);
  }

 private:
  void add(std::string argument) { out_.arguments.push_back(std::move(argument)); }
  void leave(std::string what) { out_.not_covered.push_back(std::move(what)); }

  void add_ranks() {
    const EngineConfig& e = s_.engine;
    const auto above_one = [&](const char* flag, std::uint32_t value) {
      if (value > 1) add(fmt::format("--{}-parallel-size {}", flag, value));
    };
    above_one("tensor", e.tensor_parallel);
    above_one("pipeline", e.pipeline_parallel);
    if (e.data_parallel > 1 && is_v0(release_.family)) {
      leave(fmt::format("data_parallel_size {}: v0 has none; start as many engines",
                        e.data_parallel));
    } else {
      above_one("data", e.data_parallel);
    }
    if (e.expert_parallel) add("--enable-expert-parallel");
    if (e.priority_scheduling) add("--scheduling-policy priority");
    if (s_.fleet->replicas > 1) {
      out_.comments.push_back(
          fmt::format("of each of {} instances, all alike", s_.fleet->replicas));
    }
  }

  void add_pool() {
    if (s_.pool_given) {
      add(fmt::format("--num-gpu-blocks-override {}", s_.engine.num_gpu_blocks));
      if (is_v0(s_.engine.family) != is_v0(release_.family)) {
        out_.comments.emplace_back(
            "v1 counts its null block among the blocks of the pool, v0 has none");
      }
    } else {
      add(fmt::format("--gpu-memory-utilization {}", s_.gpu_memory_utilization));
    }
    if (s_.engine.block_tokens != defaults_.block_tokens) {
      add(fmt::format("--block-size {}", s_.engine.block_tokens));
    }
  }

  void add_batch() {
    const EngineConfig& e = s_.engine;
    add(fmt::format("--max-num-seqs {}", e.max_num_seqs));
    add(fmt::format("--max-num-batched-tokens {}", e.max_num_batched_tokens));
    if (e.max_model_len > 0) add(fmt::format("--max-model-len {}", e.max_model_len));
    if (e.long_prefill_token_threshold > 0) {
      add(fmt::format("--long-prefill-token-threshold {}", e.long_prefill_token_threshold));
    }
    const std::uint32_t most =
        largest_graph(default_graph_limit(e.max_num_seqs, e.max_num_batched_tokens));
    if (s_.compute->graph_tokens == 0) {
      add("--enforce-eager");
    } else if (s_.compute->graph_tokens != most && !is_v0(release_.family)) {
      add(fmt::format("--max-cudagraph-capture-size {}", s_.compute->graph_tokens));
    }
  }

  void add_model() {
    switch (s_.model->kv_dtype) {
      case KvDtype::kBf16:
        break;
      case KvDtype::kFp8:
        add("--kv-cache-dtype fp8");
        break;
      case KvDtype::kFp4:
        leave("kv_dtype fp4: of the releases known here none has it");
        break;
    }
    if (s_.model->weights && s_.model->weights->dtype == "fp8") {
      add("--quantization fp8");
      out_.comments.emplace_back(
          "--quantization fp8 converts BF16 weights; a checkpoint in FP8 needs no flag");
    }
  }

  /// Switches of the release that a flag sets, where the scenario has them otherwise.
  void add_switches() {
    const EngineConfig& e = s_.engine;
    if (is_v0(release_.family)) {
      // Its default depends on the model's length (vllm/engine/arg_utils.py @ db66e018ea).
      add(fmt::format("--enable-chunked-prefill {}", e.chunked_prefill));
      return;
    }
    const auto toggle = [&](const char* name, bool value, bool usual) {
      if (value != usual) add(fmt::format("--{}{}", value ? "" : "no-", name));
    };
    toggle("enable-prefix-caching", e.enable_prefix_caching, defaults_.enable_prefix_caching);
    toggle("enable-chunked-prefill", e.chunked_prefill, defaults_.chunked_prefill);
    toggle("async-scheduling", e.async_scheduling, defaults_.async_scheduling);
    if (is_v0(e.family)) return;  // what follows is v1's alone
    // dc78c2c933; releases before it have neither behaviour nor flag.
    if (defaults_.reserve_full_isl) {
      toggle("scheduler-reserve-full-isl", e.reserve_full_isl, true);
    }
    if (e.watermark != release_.watermark && release_.has_watermark) {
      add(fmt::format("--watermark {}", e.watermark));
    } else if (e.watermark != release_.watermark) {
      leave(fmt::format("watermark {}: {} has none", e.watermark, release_.name));
    }
    const bool sliding = s_.model->spec != nullptr && kv_groups_of(*s_.model->spec).hybrid();
    constexpr std::string_view kNoGroups = "--disable-hybrid-kv-cache-manager";
    if (sliding && !e.hybrid_kv_cache &&
        std::find(out_.arguments.begin(), out_.arguments.end(), kNoGroups) ==
            out_.arguments.end()) {
      add(std::string(kNoGroups));
    }
  }

  void say_not_covered() {
    if (s_.admission.name() != "always") {
      leave(fmt::format("the admission of requests ({}): it has to stand before vLLM",
                        s_.admission.text()));
    }
    if (!s_.workload->classes.empty()) {
      leave("classes: priority and max_offload_tokens go with each request (kv_transfer_params)");
    }
    if (s_.engine.max_offload_tokens != ~0U) {
      leave(fmt::format("max_offload_tokens {}: it goes with each request (kv_transfer_params)",
                        s_.engine.max_offload_tokens));
    }
    if (!has_hbm_eviction(s_.hbm_eviction.name())) {
      leave(fmt::format("engine.eviction {}: vLLM's prefix cache has lru only",
                        s_.hbm_eviction.text()));
    }
    if (s_.engine.residency == Residency::kStreaming) {
      leave("residency streaming: vLLM keeps all blocks of running requests in HBM");
    }
    if (s_.engine.max_num_scheduled_tokens > 0) {
      leave(fmt::format("max_num_scheduled_tokens {}: it has no flag",
                        s_.engine.max_num_scheduled_tokens));
    }
    say_unlike_release();
  }

  /// Behaviour of the scenario's engine that this release has otherwise and no flag changes.
  void say_unlike_release() {
    if (is_v0(s_.engine.family) != is_v0(release_.family)) {
      leave(fmt::format("the engine itself: the scenario runs {}, whose scheduling differs from {}",
                        s_.preset, release_.name));
      return;
    }
    constexpr std::string_view kWithFlags[] = {"enable_prefix_caching", "enable_chunked_prefill",
                                               "async_scheduling", "offload_prompt_only"};
    std::vector<std::string_view> other;
    for (const EngineSwitch& one : engine_switches()) {
      if (s_.engine.*one.member == defaults_.*one.member) continue;
      if (std::find(std::begin(kWithFlags), std::end(kWithFlags), one.name) !=
          std::end(kWithFlags)) {
        continue;
      }
      if (one.member == &EngineConfig::reserve_full_isl && defaults_.reserve_full_isl) continue;
      // It acts only beside asynchronous scheduling.
      if (one.member == &EngineConfig::defer_block_free && !s_.engine.async_scheduling) continue;
      other.push_back(one.name);
    }
    if (other.empty() || is_v0(release_.family)) return;
    leave(fmt::format("{}: {} has {} otherwise than the scenario, and no flag for {}",
                      fmt::join(other, ", "), release_.name, other.size() == 1 ? "it" : "them",
                      other.size() == 1 ? "it" : "them"));
  }

  const Scenario& s_;
  const EnginePreset& release_;
  EngineConfig defaults_;
  EngineFlags out_;
};

}  // namespace

EngineFlags flags_of(const Scenario& scenario, const Capacity& capacity,
                     const EnginePreset& release) {
  const std::string_view engine = engine_of(scenario.engine.family);
  if (engine != engine_of(release.family)) {
    throw InputError(Fault::kUsage, {scenario.path, 0, "engine.preset"},
                     fmt::format("{} is a scenario of {}, whose settings say nothing of {}; "
                                 "expected a release of {}",
                                 scenario.name, engine, release.name, engine));
  }
  if (engine == "sglang") return sglang_flags(scenario, capacity, release);
  if (engine == "trtllm") return trtllm_flags(scenario, capacity, release);
  if (engine == "mooncake-client") return mooncake_flags(scenario, capacity, release);
  return FlagWriter(scenario, release).write(capacity);
}

}  // namespace spillway
