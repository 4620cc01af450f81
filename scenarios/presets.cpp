#include "scenarios/presets.hpp"

#include <vector>

#include "sim/catalogue.hpp"

namespace spillway {

namespace {

// Switches by upstream change: prompt-only d63108fb18 (2026-05-29), load reservation 3b3d5287fa
// (2026-06-06), unhashed blocks to the front 520828789c (2026-06-16). Chunked prefill, the
// full-prompt gate (dc78c2c933, 2026-03-24) and deferred stores (2a4dbe24ea) are in all three;
// asynchronous scheduling is on by default in all three (0.19's start-up log says so).
constexpr EnginePreset kPresets[] = {
    {"vllm@0.19", "vLLM 0.19 (April 2026): before the offload changes of mid-2026.", 0.90, false,
     false, false, true},
    {"vllm@0.23", "vLLM 0.23: prompt-only offload, load reservation, unhashed blocks first.", 0.92,
     true, true, true, true},
    {"vllm@0.25", "vLLM 0.25: as 0.23 where this model can tell.", 0.92, true, true, true, true},
};

// vllm/engine/arg_utils.py, API server: batch sizes by GPU memory.
constexpr std::int64_t kVeryLargeGpu = std::int64_t{160} << 30;
constexpr std::int64_t kLargeGpu = std::int64_t{70} << 30;

}  // namespace

std::span<const EnginePreset> engine_presets() {
  return kPresets;
}

const EnginePreset& find_preset(std::string_view name, const SourceRef& where) {
  if (name == "vllm") return kPresets[std::size(kPresets) - 1];
  return find_row(engine_presets(), "engine preset", name, where);
}

EngineConfig engine_defaults(const EnginePreset& preset, const GpuSpec* gpu) {
  EngineConfig config;
  config.block_tokens = 16;
  config.offload_prompt_only = preset.offload_prompt_only;
  config.unhashed_front = preset.unhashed_front;
  config.async_load_reservation = preset.async_load_reservation;
  config.async_scheduling = preset.async_scheduling;
  const bool large = gpu != nullptr && gpu->memory_bytes >= kLargeGpu &&
                     gpu->name.find("A100") == std::string_view::npos;
  config.max_num_seqs = large ? 1024 : 256;
  config.max_num_batched_tokens = 2048;
  if (large) config.max_num_batched_tokens = gpu->memory_bytes >= kVeryLargeGpu ? 16384 : 8192;
  return config;
}

}  // namespace spillway
