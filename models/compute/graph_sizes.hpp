// Which batches vLLM replays as a captured CUDA graph, and at what size.
//
// Sizes are 1, 2, 4, multiples of 8 below 256, of 16 from there to the largest, by default
// min(2 x max_num_seqs, 512) (vllm/config/compilation.py @ 002284db4c) and never above
// max_num_batched_tokens (vllm/config/vllm.py, _set_cudagraph_sizes @ 000fc94b75). A batch is
// padded to the next size. Pure decodes replay one graph, batches with prefill the pieces between
// their attention calls; one beyond the largest size is launched kernel by kernel
// (vllm/v1/cudagraph_dispatcher.py @ 009eec3b2b). With enforce_eager nothing is captured.
// Releases since have a larger default on data-centre Blackwell, which is then to be given.
// Model: both kinds of replay cost the host the same.
#pragma once

#include <algorithm>
#include <cstdint>

namespace spillway {

/// The next captured size, where the largest is `largest`; `tokens` itself beyond that.
inline std::uint64_t graph_padded(std::uint64_t tokens, std::uint64_t largest) {
  if (tokens > largest || tokens <= 2) return tokens;
  const auto up = [&](std::uint64_t step) { return (tokens + step - 1) / step * step; };
  if (tokens <= 4) return std::min<std::uint64_t>(4, largest);
  return std::min(tokens <= 248 ? up(8) : up(16), largest);
}

/// The largest size that is captured where at most `limit` tokens are allowed.
inline std::uint32_t largest_graph(std::uint32_t limit) {
  if (limit < 4) return std::min(limit, 2U);
  if (limit < 8) return 4;
  return limit < 256 ? limit / 8 * 8 : limit / 16 * 16;
}

/// vLLM's default for that limit.
inline std::uint32_t default_graph_limit(std::uint32_t max_num_seqs,
                                         std::uint32_t max_num_batched_tokens) {
  constexpr std::uint32_t kMost = 512;
  const std::uint32_t seqs = std::min(max_num_seqs, kMost);
  return std::min({2 * seqs, kMost, max_num_batched_tokens});
}

}  // namespace spillway
