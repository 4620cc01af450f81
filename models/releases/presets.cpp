#include "models/releases/presets.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

#include "sim/catalogue.hpp"

namespace spillway {

namespace {

constexpr auto kV0 = EngineFamily::kVllmV0;
constexpr auto kV1 = EngineFamily::kVllmV1;

constexpr EnginePreset kPresets[] = {
    {"aibrix@0.4",
     "AIBrix KVCache (2025 to 2026) as the connector of vLLM, with the rules of 0.23.", kV1, 0.92,
     0, true, true, 23, ConnectorKind::kAibrix},
    // Before 1.0, which "kvbm" means: v2 is what Dynamo turns to.
    {"kvbm@2.0", "Dynamo's KV block manager v2 (2026) as the connector of vLLM 0.25.", kV1, 0.92, 0,
     true, true, 25, ConnectorKind::kKvbm},
    {"kvbm@1.0", "Dynamo's KV block manager v1 (August 2026) as the connector of vLLM 0.25.", kV1,
     0.92, 0, true, true, 25, ConnectorKind::kKvbm},
    {"flexkv@1.2", "FlexKV 1.2 (2026) as the connector of vLLM 0.23.", kV1, 0.92, 0, true, true, 23,
     ConnectorKind::kFlexkv},
    {"mooncake@0.3", "Mooncake Store 0.3 (August 2026, 3b5a5941) as the connector of vLLM 0.25.",
     kV1, 0.92, 0, true, true, 25, ConnectorKind::kMooncake},
    {"mooncake-client",
     "Mooncake Store of August 2026 (3b5a5941), by a client without an engine around it.",
     EngineFamily::kMooncake, 0, 0, false, false},
    {"sglang", "SGLang of July 2026 (9fec359a): radix cache, HiCache where there is a tier.",
     EngineFamily::kSglang, 0, 0, false, false},
    {"trtllm@1.2",
     "TensorRT-LLM 1.2 (2026): blocks swapped out to host memory at eviction (KV cache manager "
     "V1).",
     EngineFamily::kTrtllm, 0, 0, false, false},
    {"vllm@0.6", "vLLM 0.6 (November 2024): the v0 engine, swap space instead of offload.", kV0,
     0.90, 0.01, true, false},
    {"vllm@0.12", "vLLM 0.12 (December 2025): contiguous blocks, copies beside the step.", kV1,
     0.90, 0, false, false},
    {"vllm@0.14", "vLLM 0.14 (January 2026): asynchronous scheduling, deferred stores.", kV1, 0.90,
     0, false, false},
    {"vllm@0.17", "vLLM 0.17: as 0.14; requests do not wait for loads of the same blocks.", kV1,
     0.90, 0, false, false},
    {"vllm@0.19", "vLLM 0.19 (April 2026): before the offload changes of mid-2026.", kV1, 0.90, 0,
     false, false},
    {"vllm@0.23", "vLLM 0.23: prompt-only offload, load reservation, unhashed blocks first.", kV1,
     0.92, 0, true, true},
    {"vllm@0.25", "vLLM 0.25: as 0.23, and frees of preempted requests deferred.", kV1, 0.92, 0,
     true, true},
};

// Which release has which change follows from the dates of both; where that is not certain, and
// for v0, whose engine has none of them, models/engine/README.md says so.
using C = EngineConfig;
constexpr EngineSwitch kSwitches[] = {
    {"enable_prefix_caching", &C::enable_prefix_caching, "v1", kFirstV1Minor},
    {"enable_chunked_prefill", &C::chunked_prefill, "v1", kFirstV1Minor},
    {"async_scheduling", &C::async_scheduling, "#27614", 14},
    {"store_defer_next_step", &C::store_defer_next_step, "2a4dbe24ea", 14},
    {"convoy", &C::convoy, "7013e9ac8", 18},  // not in 0.17.1
    {"reserve_full_isl", &C::reserve_full_isl, "dc78c2c933", 19},
    {"small_page_kernel", &C::small_page_kernel, "#42212", 23},
    {"offload_prompt_only", &C::offload_prompt_only, "d63108fb18", 23},
    {"async_load_reservation", &C::async_load_reservation, "3b3d5287fa", 23},
    {"unhashed_front", &C::unhashed_front, "520828789c", 23},
    {"mla_single_copy", &C::mla_single_copy, "7eca0e1a64", 23},
    {"defer_block_free", &C::defer_block_free, "#45357", 24},  // not in 0.23.0
    {"threshold_counts_offers", &C::threshold_counts_offers, "#52227", 23},
};

// vllm/engine/arg_utils.py, API server: batch sizes by GPU memory.
constexpr std::int64_t kVeryLargeGpu = std::int64_t{160} << 30;
constexpr std::int64_t kLargeGpu = std::int64_t{70} << 30;

/// By version where the name has one, else by spelling.
const EnginePreset* likely_preset(std::string_view name) {
  if (const EnginePreset* nearest = nearest_preset(name)) return nearest;
  const std::string_view near = nearest_name(name, names_of(engine_presets()));
  for (const EnginePreset& preset : kPresets) {
    if (preset.name == near) return &preset;
  }
  return nullptr;
}

}  // namespace

int EnginePreset::minor() const {
  return vllm > 0 ? vllm : minor_version(name).value_or(0);
}

std::span<const EnginePreset> engine_presets() {
  return kPresets;
}

std::span<const EngineSwitch> engine_switches() {
  return kSwitches;
}

std::optional<int> minor_version(std::string_view name) {
  if (const std::size_t at = name.find('@'); at != std::string_view::npos)
    name = name.substr(at + 1);
  if (name.starts_with("v")) name.remove_prefix(1);
  if (!name.starts_with("0.")) return std::nullopt;
  int minor = 0;
  const char* end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + 2, end, minor);
  const bool ends = read.ptr == end || *read.ptr == '.';
  return read.ec == std::errc() && ends ? std::optional(minor) : std::nullopt;
}

const EnginePreset& nearest_preset(EngineFamily family, int minor) {
  const EnginePreset* best = nullptr;
  int least = 0;
  for (const EnginePreset& preset : kPresets) {
    if (preset.family != family || preset.vllm > 0) continue;
    const int away = std::abs(preset.minor() - minor);
    if (best != nullptr && away >= least) continue;
    best = &preset;
    least = away;
  }
  KV_ASSERT(best != nullptr, "a generation without a preset");
  return *best;
}

const EnginePreset* nearest_preset(std::string_view name) {
  constexpr std::string_view kEngines[] = {"vllm"};
  const std::size_t at = name.find('@');
  if (at == std::string_view::npos || nearest_name(name.substr(0, at), kEngines).empty()) {
    return nullptr;
  }
  const auto minor = minor_version(name);
  if (!minor) return nullptr;
  return &nearest_preset(*minor < kFirstV1Minor ? kV0 : kV1, *minor);
}

const EnginePreset& find_preset(std::string_view name, const SourceRef& where) {
  const EnginePreset* found = nullptr;  // of an engine's releases the newest stands last
  for (const EnginePreset& preset : kPresets) {
    if (preset.name == name) return preset;
    if (preset.name.starts_with(name) && preset.name.substr(name.size()).starts_with('@')) {
      found = &preset;
    }
  }
  if (found != nullptr) return *found;
  const EnginePreset* nearest = likely_preset(name);
  std::string message = fmt::format("unknown engine preset \"{}\"; ", name.substr(0, 64));
  if (nearest != nullptr) message += fmt::format("did you mean \"{}\"? ", nearest->name);
  message += "known:";
  for (const EnginePreset& preset : kPresets) {
    message += fmt::format("{} {}", &preset == kPresets ? "" : ",", preset.name);
  }
  throw InputError(Fault::kUsage, where, message);
}

EngineConfig engine_defaults(const EnginePreset& preset, const GpuSpec* gpu) {
  EngineConfig config;
  config.block_tokens = 16;
  config.family = preset.family;
  config.watermark = preset.watermark;
  for (const EngineSwitch& s : kSwitches) config.*s.member = s.on(preset);
  config.connector = preset.connector;
  if (preset.name == "kvbm@2.0") config.kvbm = kvbm_v2();
  if (of_preset(config.connector)) config.async_scheduling = config.defer_block_free = false;
  config.max_num_seqs = 256;
  config.max_num_batched_tokens = 2048;
  if (preset.family == EngineFamily::kTrtllm) {
    // tensorrt_llm/llmapi/llm_args.py: tokens_per_block, max_batch_size, max_num_tokens.
    config.block_tokens = 32;
    config.max_num_seqs = 2048;
    config.max_num_batched_tokens = 8192;
  }
  if (preset.family != kV1) return config;
  const bool large = gpu != nullptr && gpu->memory_bytes >= kLargeGpu &&
                     gpu->name.find("A100") == std::string_view::npos;
  if (!large) return config;
  config.max_num_seqs = 1024;
  config.max_num_batched_tokens = gpu->memory_bytes >= kVeryLargeGpu ? 16384 : 8192;
  return config;
}

}  // namespace spillway
