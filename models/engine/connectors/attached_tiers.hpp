// What a store attached to vLLM (KVBM, FlexKV) is told of its tiers: host memory first, then those
// below.
#pragma once

#include <cstdint>
#include <memory>

#include "models/link/link_model.hpp"
#include "sim/units.hpp"

namespace spillway {

/// One direction between two tiers, as the scenario has it.
struct AttachedWay {
  std::uint32_t link = 0;  ///< its number in observations and results
  std::unique_ptr<LinkModel> model;
  Duration latency{0};       ///< the part of its times that batches of KVBM pass side by side
  Bytes block{0};            ///< of one block on this way
  std::uint32_t copies = 1;  ///< that a block consists of
};

struct AttachedTierConfig {
  std::uint64_t slots = 0;  ///< of a block each
  bool filtered = false;    ///< KVBM: only what the filter lets pass is written
  AttachedWay down;         ///< from HBM to the first, from there to the others
  AttachedWay up;           ///< KVBM: to HBM; FlexKV: from the others to the first
};

}  // namespace spillway
