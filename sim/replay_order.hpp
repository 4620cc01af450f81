// The two choices that define a replay without a clock; the cache replay and the one-pass curve
// must mean the same by them.
#pragma once

#include <cstdint>

namespace spillway {

/// In which order a request touches its blocks once all of them have been looked up.
enum class TouchOrder : std::uint8_t {
  kReverse,  ///< last block first, as vLLM frees them: a chain's tail dies before its head
  kForward,
};

/// kRequest: a request's blocks are looked up against the cache as it stood before the request,
/// then touched. kReference: each block is looked up and touched by itself, first block first.
enum class Atomicity : std::uint8_t { kRequest, kReference };

}  // namespace spillway
