// What one schedule() decided.
#pragma once

#include <cstdint>
#include <vector>

#include "models/engine/active_request.hpp"

namespace spillway {

struct ScheduledTokens {
  Handle request;
  std::uint32_t tokens;    ///< n: computed in this step
  std::uint32_t computed;  ///< C before the step
  bool samples = false;    ///< all its tokens are computed then, so it emits the next one
  std::uint32_t cold = 0;  ///< streaming: blocks of its chain below HBM when it read them
};

struct StepPlan {
  std::vector<ScheduledTokens> items;  ///< running requests first, then the admitted ones, in order
  std::vector<Handle> preempted;
  bool load_started = false;
  bool starved = false;         ///< blocks ran out: a request was preempted or had to wait
  std::uint32_t deferrals = 0;  ///< look-ups that the tier below could not answer yet
  // Streaming: blocks that were below HBM when prefills and decodes read them, and those that left
  // HBM for the tier below.
  std::uint64_t cold_prefill = 0;
  std::uint64_t cold_decode = 0;
  std::uint64_t moved_down = 0;

  void clear() {
    items.clear();
    preempted.clear();
    load_started = false;
    starved = false;
    deferrals = 0;
    cold_prefill = cold_decode = moved_down = 0;
  }
};

}  // namespace spillway
