// The sections `compute` and `collectives` of a scenario.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/compute/compute_profile.hpp"
#include "models/compute/step_cost.hpp"

namespace spillway {

struct ComputeChoice {
  enum class Kind : std::uint8_t { kLinear, kComponents, kProfile };
  Kind kind = Kind::kLinear;
  LinearCost linear{};
  double host_overhead_us = kDefaultHostOverheadUs;
  double sequence_us = kDefaultSequenceUs;
  double eager_overhead_us = 0;           ///< more, per step that replays no captured graph
  double launch_us = kDefaultLaunchUs;    ///< of a layer, by the host, where none is replayed
  std::uint32_t graph_tokens = 512;       ///< largest batch that replays one
  CollectiveSettings collectives{};       ///< of the section `collectives`
  std::optional<ComputeProfile> profile;  ///< of kind profile
  std::string path;                       ///< of its document
  std::string digest;                     ///< of that document's results

  bool graphs_matter() const {
    return kind != Kind::kLinear &&
           spillway::graphs_matter(profile.has_value(), eager_overhead_us, launch_us);
  }
};

}  // namespace spillway
