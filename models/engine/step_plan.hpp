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
};

struct StepPlan {
  std::vector<ScheduledTokens> items;  ///< running requests first, then the admitted ones, in order
  std::vector<Handle> preempted;
  bool load_started = false;
  std::uint32_t deferrals = 0;  ///< look-ups that the tier below could not answer yet

  void clear() {
    items.clear();
    preempted.clear();
    load_started = false;
    deferrals = 0;
  }
};

}  // namespace spillway
