#include "scenarios/scenario/growth.hpp"

#include <algorithm>
#include <cmath>

#include "scenarios/scenario/sections/workload.hpp"
#include "traces/reshape/workload_growth.hpp"

namespace spillway {

Workload grown(const Workload& workload, const GrowthChoice& growth, std::uint64_t seed) {
  return grow_workload(workload, {growth.rate, growth.context, growth.reuse, growth.tenants}, seed);
}

void grow_arrivals(WorkloadChoice& workload, const GrowthChoice& growth) {
  const double traffic = growth.rate * growth.tenants;
  ArrivalConfig& arrival = workload.arrival;
  if (arrival.kind == ArrivalConfig::Kind::kPoisson) arrival.rate_per_s *= traffic;
  if (arrival.kind == ArrivalConfig::Kind::kClosedLoop) {
    const double clients = std::floor(arrival.concurrency * traffic + 0.5);
    arrival.concurrency = static_cast<std::uint32_t>(std::clamp(clients, 1.0, 4e9));
  }
}

}  // namespace spillway
