// What one schedule() decided.
#pragma once

#include <cstdint>
#include <vector>

#include "models/requests/active_request.hpp"
#include "sim/observer.hpp"

namespace spillway {

struct ScheduledTokens {
  Handle request;
  std::uint32_t tokens;    ///< n: computed in this step
  std::uint32_t computed;  ///< C before the step
  bool samples = false;    ///< all its tokens are computed then, so it emits the next one
  std::uint32_t cold = 0;  ///< streaming: blocks of its chain below HBM when it read them
};

/// A request that the scheduler took out of its queue for good, and why.
struct RefusedRequest {
  Handle request;
  Reason reason;
};

struct StepPlan {
  std::vector<ScheduledTokens> items;  ///< running requests first, then the admitted ones, in order
  std::vector<Handle> preempted;
  bool load_started = false;
  bool starved = false;         ///< blocks ran out: a request was preempted or had to wait
  std::uint32_t deferrals = 0;  ///< look-ups that the tier below could not answer yet
  std::uint32_t lookups = 0;    ///< in the tier below
  // Streaming: blocks that were below HBM when prefills and decodes read them, and those that left
  // HBM for the tier below.
  std::uint64_t cold_prefill = 0;
  std::uint64_t cold_decode = 0;
  std::uint64_t moved_down = 0;
  // v0: blocks that are copied before the forward, on its stream, and requests that never run.
  std::uint32_t swapped_out = 0;
  std::uint32_t swapped_in = 0;
  std::vector<RefusedRequest> refused;
  std::vector<Handle> completed;  ///< without a step of the engine: their tokens are known
  bool fatal = false;             ///< it cannot be carried out, and the engine ends with it

  /// The GPU has something to do: tokens, or copies on the compute stream.
  bool has_work() const { return !items.empty() || swapped_out + swapped_in > 0; }

  void clear() {
    items.clear();
    preempted.clear();
    swapped_out = swapped_in = 0;
    refused.clear();
    completed.clear();
    load_started = false;
    fatal = false;
    starved = false;
    deferrals = lookups = 0;
    cold_prefill = cold_decode = moved_down = 0;
  }
};

}  // namespace spillway
