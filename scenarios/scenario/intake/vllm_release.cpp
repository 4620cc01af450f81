#include "scenarios/scenario/intake/vllm_release.hpp"

#include <fmt/format.h>

#include "models/releases/kv_groups.hpp"
#include "models/releases/presets.hpp"

namespace spillway {

namespace {

using ReleaseJson = nlohmann::ordered_json;

class ReleaseReader {
 public:
  ReleaseReader(const IntakeOptions& options, const std::optional<ModelSpec>& shape, Draft& draft)
      : options_(options), shape_(shape), draft_(draft) {}

  void read(const EngineCall& call) {
    if (draft_.at("engine.preset") == "vllm") {  // no other manager of KV
      preset(call);
      sliding();
    }
    pool(call);
  }

 private:
  /// The nearest release of the same generation: vLLM serves with v1 since 0.8, unless told.
  void preset(const EngineCall& call) {
    const std::string version = options_.release.empty() ? call.version : options_.release;
    const std::string from = options_.release.empty() ? call.version_from : "--release";
    const auto variable = call.environment.find("VLLM_USE_V1");
    const std::string use_v1 = variable == call.environment.end() ? "" : variable->second;
    const auto minor = minor_version(version);
    if (!options_.release.empty() && !minor) {
      throw InputError(
          Fault::kUsage, {"--release", 0, ""},
          fmt::format("expected a release of vLLM such as 0.9.1, found \"{}\"", options_.release));
    }
    if (!minor && use_v1 != "0") {
      draft_.set("engine.preset", std::string(engine_presets().back().name),
                 "no release is named: the newest");
      draft_.remark(
          Standing::kAssumed, "release of vLLM",
          fmt::format("{}: the input names none; --release says it", engine_presets().back().name));
      return;
    }
    bool v0 = use_v1 == "0" || (minor && *minor < kFirstV1Minor && use_v1 != "1");
    std::string why;
    if (v0 && parallel()) {
      why = "v0, which is not modelled with several GPUs: simulated as v1";
      v0 = false;
    }
    const EnginePreset& chosen =
        nearest_preset(v0 ? EngineFamily::kVllmV0 : EngineFamily::kVllmV1, minor.value_or(6));
    draft_.set("engine.preset", std::string(chosen.name),
               version.empty() ? "VLLM_USE_V1=0" : fmt::format("{}: vLLM {}", from, version));
    const bool same = minor && chosen.name == fmt::format("vllm@0.{}", *minor);
    if (!same || !why.empty()) {
      draft_.remark(Standing::kAssumed, fmt::format("vLLM {}", version.empty() ? "v0" : version),
                    fmt::format("simulated as {}, the nearest release of {}{}{}", chosen.name,
                                v0 ? "v0" : "v1", why.empty() ? "" : "; it is ", why));
    } else {
      draft_.remark(Standing::kUsed, fmt::format("vLLM {}", version), "engine.preset");
    }
  }

  bool parallel() const {
    return draft_.has("engine.tensor_parallel_size") ||
           draft_.has("engine.pipeline_parallel_size") || draft_.has("engine.data_parallel_size") ||
           draft_.has("tiers");
  }

  /// vLLM keeps only the window of sliding layers unless told otherwise; beside a connector since
  /// connectors know KV groups (#39403).
  void sliding() {
    const EnginePreset& preset = find_preset(draft_.at("engine.preset").get<std::string>(), {});
    if (!shape_ || preset.family == EngineFamily::kVllmV0) return;
    const KvGroups groups = kv_groups_of(*shape_);
    if (!groups.hybrid() || draft_.has("engine.hybrid_kv_cache")) return;
    const bool offloads = draft_.has("tiers");
    const bool plain = !draft_.has("tiers.1") && !draft_.has("tiers.0.eviction") &&
                       !draft_.has("engine.offload_connector") &&
                       !draft_.has("engine.offload_block_tokens") &&
                       !draft_.has("engine.store_threshold");
    if (offloads && !preset.has_tiering) return;
    if (!plain) {
      return draft_.remark(Standing::kNotModelled, "hybrid KV cache",
                           "sliding layers are charged in full: their windows are not modelled "
                           "beside these settings of the connector");
    }
    draft_.set("engine.hybrid_kv_cache", true, "vLLM's default for sliding layers");
    groups_ = groups.count();
  }

  /// Keys that the generation of the engine does not have.
  void pool(const EngineCall& call) {
    const bool v0 = is_v0_preset(draft_.at("engine.preset").get<std::string>());
    if (v0 && draft_.has("engine.swap_space")) {
      draft_.remark(Standing::kUsed, "--swap-space", "engine.swap_space");
    }
    if (v0) {
      for (const char* key : {"engine.enable_prefix_caching", "engine.async_scheduling",
                              "engine.long_prefill_token_threshold", "engine.scheduling_policy",
                              "engine.hybrid_kv_cache", "engine.reserve_full_isl"}) {
        if (!draft_.has(key)) continue;
        const ReleaseJson value = draft_.at(key);
        draft_.erase(key);
        if (value == false) continue;
        draft_.remark(Standing::kNotModelled, fmt::format("{}", key), "not modelled with v0");
      }
    } else {
      for (const char* key : {"engine.swap_space", "engine.preemption_mode"}) {
        if (!draft_.has(key)) continue;
        draft_.erase(key);
        draft_.remark(
            Standing::kNoEffect,
            key == std::string("engine.swap_space") ? "--swap-space" : "--preemption-mode",
            "v1 has no swap space: what it preempts is computed again");
      }
    }
    if (draft_.at("engine.max_cudagraph_capture_size").is_number() &&
        draft_.at("engine.enforce_eager") == true) {
      draft_.erase("engine.max_cudagraph_capture_size");
    }
    constexpr std::int64_t kBlock = 16;
    const ReleaseJson block = draft_.at("engine.block_tokens");
    const std::int64_t tokens = block.is_number_integer() ? block.get<std::int64_t>() : kBlock;
    if (draft_.has("engine.num_gpu_blocks")) return;
    if (call.pool_blocks) {
      draft_.set("engine.num_gpu_blocks", *call.pool_blocks, "the log's number of GPU blocks");
      draft_.remark(Standing::kUsed, fmt::format("{} GPU blocks", *call.pool_blocks),
                    "engine.num_gpu_blocks");
    } else if (call.pool_tokens && *call.pool_tokens / tokens >= 2) {
      draft_.set("engine.num_gpu_blocks", *call.pool_tokens / tokens * groups_,
                 fmt::format("the log's GPU KV cache size: {} tokens", *call.pool_tokens));
      draft_.remark(Standing::kUsed, fmt::format("GPU KV cache size: {} tokens", *call.pool_tokens),
                    "engine.num_gpu_blocks");
    }
  }

  const IntakeOptions& options_;
  const std::optional<ModelSpec>& shape_;
  Draft& draft_;
  std::int64_t groups_ = 1;  ///< of KV: the pool counts pages of one
};

}  // namespace

bool is_v0_preset(std::string_view preset) {
  return find_preset(preset, {}).family == EngineFamily::kVllmV0;
}

void set_vllm_release(const EngineCall& call, const IntakeOptions& options,
                      const std::optional<ModelSpec>& shape, Draft& draft) {
  ReleaseReader(options, shape, draft).read(call);
}

}  // namespace spillway
