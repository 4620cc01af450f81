// What an engine is told: the configurations of its rooms, and what the loop itself reads. A preset
// fills it in (models/engine/presets).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "models/releases/mooncake_config.hpp"
#include "models/releases/scheduler_config.hpp"
#include "models/releases/sglang_config.hpp"
#include "models/releases/trtllm_config.hpp"

namespace spillway {

/// What has to be in HBM when a request runs.
enum class Residency : std::uint8_t {
  kFull,       ///< all its blocks
  kStreaming,  ///< those that it writes; the others are read from below in each step
};

/// What requests of one kind (a tenant of the trace) ask for.
struct RequestClass {
  std::int32_t priority = 0;        ///< a smaller value goes first; vLLM's `priority`
  bool offload = true;              ///< off: nothing is loaded for it, nothing of it goes below
  std::uint32_t store_limit = ~0U;  ///< leading tokens that may go below HBM
};

enum class EngineFamily : std::uint8_t { kVllmV1, kVllmV0, kSglang, kTrtllm, kMooncake };

/// Whose engine a family is, as presets and messages name it.
constexpr std::string_view engine_of(EngineFamily family) {
  switch (family) {
    case EngineFamily::kSglang:
      return "sglang";
    case EngineFamily::kTrtllm:
      return "trtllm";
    case EngineFamily::kMooncake:
      return "mooncake-client";
    case EngineFamily::kVllmV1:
    case EngineFamily::kVllmV0:
      break;
  }
  return "vllm";
}

struct EngineConfig : SchedulerConfig, StreamingConfig {
  EngineFamily family = EngineFamily::kVllmV1;
  Residency residency = Residency::kFull;
  std::uint32_t tensor_parallel = 1;
  std::uint32_t data_parallel = 1;
  SglangConfig sglang;
  TrtllmConfig trtllm;
  MooncakeConfig mooncake;
  bool expert_parallel = false;  ///< ranks have some experts of a mixture, not a part of each

  /// Mooncake Store is the first tier, read and written straight from HBM.
  bool store_first() const { return family == EngineFamily::kMooncake || is_mooncake(); }
  /// Blocks that requests can have: all but v1's null block.
  std::uint32_t usable_blocks() const {
    return family == EngineFamily::kVllmV1 ? num_gpu_blocks - 1 : num_gpu_blocks;
  }
  /// So many times as many of these.
  void scale_pool(double factor) {
    const std::uint32_t null_blocks = num_gpu_blocks - usable_blocks();
    const double usable = std::max(1.0, std::round(usable_blocks() * factor));
    num_gpu_blocks = static_cast<std::uint32_t>(usable) + null_blocks;
  }
};

}  // namespace spillway
