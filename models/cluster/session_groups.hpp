// Which instance a hash names for each session.
//
// A session goes to the instance that a hash of (seed, session) names, whatever the others do and
// however full it is: the affinity that keeps its prefix in one cache. Requests that wait for one
// another stay together, too, and a request without session goes by itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/cluster/router.hpp"
#include "sim/workload.hpp"

namespace spillway {

/// By request. `sessions` is one number for each request, or empty.
std::vector<InstanceId> instances_by_session(const Workload& workload,
                                             std::span<const std::uint32_t> sessions,
                                             std::uint32_t instances, std::uint64_t seed);

}  // namespace spillway
