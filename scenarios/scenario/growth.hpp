// Growth as scenarios say it: of a workload's requests, and of what places their arrivals.
#pragma once

#include <cstdint>

#include "scenarios/scenario/scenario.hpp"
#include "sim/workload.hpp"

namespace spillway {

/// traces/reshape/workload_growth.hpp. A copy where nothing grows.
Workload grown(const Workload& workload, const GrowthChoice& growth, std::uint64_t seed);

/// More sessions alone do not make a faster process where arrivals are not the recorded ones: the
/// rate of random arrivals, or the clients of a closed loop, grow with rate and tenants too. To be
/// called once for each growth of `workload`, whose own `growth` it leaves alone.
void grow_arrivals(WorkloadChoice& workload, const GrowthChoice& growth);

}  // namespace spillway
