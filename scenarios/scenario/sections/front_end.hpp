// The section `front_end` of a scenario.
#pragma once

#include <cstdint>

#include "models/front_end.hpp"

namespace spillway {

// What vLLM's API server takes, as published measurements give it.
//
// The event loop: two runs that one API server limited, whose requests had R + n x C each, n output
// tokens at C each:
//   vllm-project/vllm#17546 (before), Llama-3.2-1B on 2 x A100, ShareGPT at 120 requests/s offered:
//     10,000 requests of about 200 output tokens in 130.74 s, so R + 200 C = 13.07 ms;
//   ovg-project/kvcached#331 (vanilla), Qwen3-0.6B on H100, vLLM 0.19, 500 requests of 128 output
//     tokens sent at once: 94.91 requests/s, so R + 128 C = 10.54 ms.
// Their difference gives C = 35 us, then R = 6.0 ms. inference-sim, which fitted runs of vLLM on
// H100 with neither, has 46 us for an output token.
inline constexpr double kFrontEndRequestMs = 6.0;
inline constexpr double kFrontEndChunkUs = 35;
// The fixed time of a request before the engine has it is 15.563 ms in inference-sim's fit of runs
// of vLLM on H100 (docs/guide/latency-models.md, alpha 0); the loop's share is not counted twice.
inline constexpr double kFrontEndDelayMs = 9.5;
// 1.1 s for 4 MB of text, about a million tokens, with Hugging Face's tokenizers
// (charlesxu.io/parallel-tokenizer).
inline constexpr double kFrontEndPromptTokenUs = 1.1;

/// front_end: the API server before each instance.
struct FrontEndChoice {
  static constexpr std::int64_t kMostProcesses = 1024;
  FrontEndConfig each;  ///< all zero: it takes no time
  bool processes_given = false;
  bool published = false;  ///< some of it is a default

  /// Of all instances: as many processes as engines, unless the scenario says how many each has
  /// (vllm serve: --api-server-count is --data-parallel-size by default).
  FrontEndConfig all(std::uint32_t data_parallel, std::uint32_t replicas) const {
    FrontEndConfig out = each;
    out.processes = (processes_given ? each.processes : data_parallel) * replicas;
    return out;
  }
};

}  // namespace spillway
