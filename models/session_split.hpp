// Sessions split over identical instances.
//
// A session goes to the instance that a hash of (seed, session) names, whatever the others do and
// however full it is: the affinity that keeps its prefix in one cache. Requests that wait for one
// another stay together, too, and a request without session goes by itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/ids.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct SessionSplit {
  std::vector<std::uint32_t> instance;          ///< of each request
  std::vector<RequestId> local;                 ///< each request as its instance calls it
  std::vector<std::vector<RequestId>> members;  ///< of each instance, ascending
  std::vector<Workload> parts;                  ///< what each instance serves
};

/// `sessions` is one number for each request, or empty.
SessionSplit split_sessions(const Workload& workload, std::span<const std::uint32_t> sessions,
                            std::uint32_t instances, std::uint64_t seed);

}  // namespace spillway
