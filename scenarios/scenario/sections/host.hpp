// The section `host` of a scenario.
#pragma once

#include <cstdint>

#include "sim/error.hpp"
#include "sim/units.hpp"

namespace spillway {

/// host: the machine under the engine.
struct HostChoice {
  Bytes memory{0};
  Bytes reserved{0};            ///< for everything but KV pools
  std::uint32_t instances = 1;  ///< engines like this one on it
  std::uint32_t numa_nodes = 1;
  SourceRef where;
};

}  // namespace spillway
