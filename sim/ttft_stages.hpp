// What the time to a first token went into, stage by stage; the stages sum to it exactly.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/units.hpp"

namespace spillway {

enum class TtftStage : std::uint8_t {
  kQueue,      ///< waited to be taken up: for its turn, for blocks, for a place in the batch
  kLoadWait,   ///< its loads waited for links that others used
  kLoad,       ///< its loads ran
  kRecompute,  ///< computed again, or queued again, after it had been preempted
  kStep,       ///< steps that computed its prompt, with all that else was in them
  kFrontEnd,   ///< on its way to the engine, and its first token's way out
};
inline constexpr std::size_t kTtftStages = 6;
std::string_view name_of(TtftStage stage);

/// By TtftStage.
using TtftParts = std::array<Duration, kTtftStages>;

/// Requests whose time to first token lies between two quantiles, on average.
struct TtftBand {
  std::string name;            ///< "all", "p0-p50", ..., "p99-p100"
  std::uint64_t requests = 0;  ///< that are in it
  double ttft_ms = 0;          ///< mean
  std::array<double, kTtftStages> stage_ms{};
};

/// One of the requests that waited longest for their first token.
struct SlowRequest {
  std::uint64_t request = 0;  ///< its row in the workload
  double arrival_s = 0;
  double ttft_ms = 0;
  std::array<double, kTtftStages> stage_ms{};
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  std::vector<std::uint64_t> cached_tokens{};  ///< by tier, HBM first
  std::uint64_t preemptions = 0;
};

}  // namespace spillway
