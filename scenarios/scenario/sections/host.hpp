// The section `host` of a scenario.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/error.hpp"
#include "sim/units.hpp"

namespace spillway {

/// host: the machine under the engine.
struct HostChoice {
  Bytes memory{0};
  Bytes reserved{0};            ///< for everything but KV pools
  std::uint32_t instances = 1;  ///< engines like this one on it
  std::uint32_t numa_nodes = 1;
  std::int64_t memory_rate = 0;  ///< bytes/s of its memory; 0: no bound

  /// The medium that its memory is then.
  static constexpr std::string_view kMemoryMedium = "host-memory";
  SourceRef where;
};

}  // namespace spillway
