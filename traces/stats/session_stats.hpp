// Who asks: sessions with their turns and pauses, and tenants.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload.hpp"

namespace spillway {

struct Distribution {
  std::uint64_t count = 0;
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
};

struct SessionStats {
  std::uint64_t sessions = 0;  ///< 0: the trace names none
  Distribution turns;          ///< requests of a session
  Distribution gap_s;          ///< between the arrivals of a session's requests
  Distribution think_s;        ///< the client's recorded pauses
  /// Requests that wait for another's answer.
  std::uint64_t with_predecessor = 0;
};

SessionStats session_stats(const Workload& workload);

struct TenantStats {
  std::string name;
  std::uint64_t requests = 0;
  std::uint64_t input_tokens = 0;
};

/// The tenant with the most requests first; those with equally many by name.
std::vector<TenantStats> tenant_stats(const Workload& workload);

}  // namespace spillway
