// What TensorRT-LLM is told. Names follow its own arguments (tensorrt_llm/llmapi/llm_args.py,
// cpp/include/tensorrt_llm/executor/executor.h); block size, pool and batch sizes are those of
// BlockConfig.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/retention.hpp"

namespace spillway {

/// How much memory has to be there before a request is chosen.
enum class CapacityPolicy : std::uint8_t {
  kGuaranteedNoEvict,  ///< all that it will ever need
  kMaxUtilization,     ///< what its next step needs; later ones may pause it
};
inline constexpr std::string_view kCapacityPolicyNames[] = {"GUARANTEED_NO_EVICT",
                                                            "MAX_UTILIZATION"};

/// What keeps the blocks: the KV cache manager V1, or V2, which suspends requests where V1 pauses
/// them, and has a disk behind host memory.
enum class TrtllmManager : std::uint8_t { kV1, kV2 };
inline constexpr std::string_view kTrtllmManagerNames[] = {"v1", "v2"};

struct TrtllmConfig {
  TrtllmManager manager = TrtllmManager::kV1;
  CapacityPolicy capacity = CapacityPolicy::kGuaranteedNoEvict;
  std::uint32_t max_seq_len = 0;  ///< of prompt and answer; 0: no limit
  std::int64_t max_tokens = 0;    ///< that the pool may hold; 0: as many as fit
  bool block_reuse = true;
  bool partial_reuse = true;
  bool copy_on_partial_reuse = true;
  /// What is evicted with a lower priority is not kept in host memory (evictionPolicy.cpp,
  /// kDefaultSecondaryOffloadMinPriority; its documentation says 35).
  std::uint32_t offload_min_priority = 30;
  /// All blocks that a look-up found are claimed before any is onboarded; else one after the other,
  /// and onboarding one can evict the next.
  bool claim_before_onboard = true;
  KvRetention retention;  ///< of requests that say nothing
  /// V2: requests get blocks back, or their first ones, while no larger share of the pool is
  /// locked; in millionths (KvCacheConfig.max_util_for_resume).
  std::uint32_t resume_ppm = 950'000;

  bool v2() const { return manager == TrtllmManager::kV2; }
};

}  // namespace spillway
