// Growth as scenarios say it: of a workload's requests, and of what places their arrivals.
#pragma once

#include <cstdint>

namespace spillway {

class Workload;
struct WorkloadChoice;

/// workload.growth: factors on what was recorded; the planner's demand scenarios use them too.
struct GrowthChoice {
  double rate = 1;     ///< session starts
  double context = 1;  ///< tokens of prompts and answers
  double reuse = 1;    ///< share of prompt blocks that earlier prompts held; at most what there is
  double tenants = 1;  ///< copies of the population with prefixes of their own
  bool any() const { return rate != 1 || context != 1 || reuse != 1 || tenants != 1; }
};

/// traces/reshape/workload_growth.hpp. A copy where nothing grows.
Workload grown(const Workload& workload, const GrowthChoice& growth, std::uint64_t seed);

/// More sessions alone do not make a faster process where arrivals are not the recorded ones: the
/// rate of random arrivals, or the clients of a closed loop, grow with rate and tenants too. To be
/// called once for each growth of `workload`, whose own `growth` it leaves alone.
void grow_arrivals(WorkloadChoice& workload, const GrowthChoice& growth);

}  // namespace spillway
