// Which keys of `engine` belong to which engine: what another engine's preset has no use for is an
// error.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"

namespace spillway {

namespace {

constexpr std::string_view kSglangOwn[] = {"page_size",
                                           "max_total_tokens",
                                           "mem_fraction_static",
                                           "max_running_requests",
                                           "chunked_prefill_size",
                                           "max_prefill_tokens",
                                           "schedule_policy",
                                           "radix_eviction_policy",
                                           "enable_mixed_chunk",
                                           "schedule_conservativeness",
                                           "max_new_tokens",
                                           "hicache_write_policy",
                                           "hicache_ratio",
                                           "hicache_storage_prefetch_policy",
                                           "prefetch_threshold",
                                           "prefetch_timeout_base",
                                           "prefetch_timeout_per_ki_token",
                                           "prefetch_timeout_max"};
constexpr std::string_view kSglangShared[] = {
    "preset",        "max_model_len", "async_scheduling",     "load",
    "enforce_eager", "kv_layout",     "tensor_parallel_size", "max_cudagraph_capture_size"};

constexpr std::string_view kTrtllmOwn[] = {"free_gpu_memory_fraction",
                                           "max_tokens",
                                           "capacity_scheduler_policy",
                                           "enable_block_reuse",
                                           "enable_partial_reuse",
                                           "copy_on_partial_reuse",
                                           "secondary_offload_min_priority",
                                           "claim_before_onboard",
                                           "kv_cache_manager",
                                           "max_util_for_resume",
                                           "disk_prefetch_num_reqs"};
constexpr std::string_view kTrtllmShared[] = {"preset",
                                              "block_tokens",
                                              "num_gpu_blocks",
                                              "max_num_seqs",
                                              "max_num_batched_tokens",
                                              "max_model_len",
                                              "load",
                                              "enable_chunked_prefill",
                                              "async_scheduling",
                                              "tensor_parallel_size",
                                              "enforce_eager",
                                              "max_cudagraph_capture_size"};

constexpr std::string_view kMooncakeShared[] = {
    "preset",       "block_tokens",           "max_model_len",   "num_gpu_blocks",
    "max_num_seqs", "max_num_batched_tokens", "async_scheduling"};

/// An engine that takes no other keys than these; what is nobody's own here is vLLM's.
struct EngineKeys {
  EngineFamily family;
  std::string_view engine;
  std::span<const std::string_view> own;
  std::span<const std::string_view> shared;
};
constexpr EngineKeys kEngines[] = {
    {EngineFamily::kSglang, "SGLang", kSglangOwn, kSglangShared},
    {EngineFamily::kTrtllm, "TensorRT-LLM", kTrtllmOwn, kTrtllmShared},
    {EngineFamily::kMooncake, "Mooncake Store", {}, kMooncakeShared},
};

bool lists(std::span<const std::string_view> names, std::string_view key) {
  return std::find(names.begin(), names.end(), key) != names.end();
}

const EngineKeys* key_owner(std::string_view key) {
  const auto at = std::find_if(std::begin(kEngines), std::end(kEngines),
                               [&](const EngineKeys& e) { return lists(e.own, key); });
  return at == std::end(kEngines) ? nullptr : at;
}

}  // namespace

void refuse_foreign_keys(const ObjectReader& engine, const Scenario& s) {
  const auto here = std::find_if(std::begin(kEngines), std::end(kEngines),
                                 [&](const EngineKeys& e) { return e.family == s.engine.family; });
  for (const std::string& key : engine.keys()) {
    if (!engine.told(key)) continue;
    const EngineKeys* owner = key_owner(key);
    if (here == std::end(kEngines)) {
      if (owner == nullptr) continue;
      engine.fail(key, fmt::format("a flag of {}, found beside preset {}; expected preset {}, or a "
                                   "flag of vLLM",
                                   owner->engine, s.preset, engine_of(owner->family)));
    }
    if (lists(here->own, key) || lists(here->shared, key)) continue;
    engine.fail(key, fmt::format("a flag of {}, found beside preset {}; expected one of {}{}{}",
                                 owner != nullptr ? owner->engine : "vLLM", s.preset,
                                 fmt::join(here->own, ", "), here->own.empty() ? "" : ", ",
                                 fmt::join(here->shared, ", ")));
  }
}

}  // namespace spillway
