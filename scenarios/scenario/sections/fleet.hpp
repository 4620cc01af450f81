// The section `fleet` of a scenario.
#pragma once

#include <cstdint>

#include "sim/error.hpp"

namespace spillway {

/// fleet: identical instances of everything else, among which sessions are split.
struct FleetChoice {
  static constexpr std::int64_t kMostReplicas = 1024;
  std::uint32_t replicas = 1;
  SourceRef where;
};

}  // namespace spillway
