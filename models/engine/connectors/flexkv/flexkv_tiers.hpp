// What FlexKV is told of its tiers: host memory first, then those below.
#pragma once

#include <cstdint>
#include <memory>

#include "models/link/link_model.hpp"
#include "sim/units.hpp"

namespace spillway {

/// One direction between two tiers, as the scenario has it.
struct FlexkvWay {
  std::uint32_t link = 0;  ///< its number in observations and results
  std::unique_ptr<LinkModel> model;
  Bytes block{0};            ///< of one block on this way
  std::uint32_t copies = 1;  ///< that a block consists of
};

struct FlexkvTierConfig {
  std::uint64_t slots = 0;  ///< of a block each
  FlexkvWay down;           ///< from HBM to the first, from there to the others
  FlexkvWay up;             ///< from the first to HBM, from the others to it
};

}  // namespace spillway
