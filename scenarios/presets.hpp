// Engine presets: the defaults and switches of a release, by name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/catalogue/gpu_spec.hpp"
#include "models/engine/engine_config.hpp"
#include "sim/error.hpp"

namespace spillway {

struct EnginePreset {
  std::string_view name;
  std::string_view summary;
  double gpu_memory_utilization;
  bool offload_prompt_only;
  bool unhashed_front;
  bool async_load_reservation;
  bool async_scheduling;
};

std::span<const EnginePreset> engine_presets();

/// "vllm@0.23", or "vllm" for the newest. Throws InputError (exit 2) listing the known ones.
const EnginePreset& find_preset(std::string_view name, const SourceRef& where);

/// The preset's defaults; `gpu` (may be null) decides batch sizes as vLLM's API server does.
EngineConfig engine_defaults(const EnginePreset& preset, const GpuSpec* gpu);

}  // namespace spillway
