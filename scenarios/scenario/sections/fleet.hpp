// The section `fleet` of a scenario.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/error.hpp"

namespace spillway {

/// How the instance of a request is chosen; the values of `fleet.routing`, in their order.
enum class FleetRouting : std::uint8_t { kSessionHash, kRoundRobin, kLeastLoaded };
std::string_view name_of(FleetRouting routing);

/// fleet: identical instances of everything else, among which requests are divided.
struct FleetChoice {
  static constexpr std::int64_t kMostReplicas = 1024;
  std::uint32_t replicas = 1;
  FleetRouting routing = FleetRouting::kSessionHash;
  SourceRef where;
};

}  // namespace spillway
