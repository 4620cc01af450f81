#include "models/releases/connector_costs.hpp"

#include <algorithm>
#include <cmath>

namespace spillway {

Duration connector_time(const ConnectorCosts& costs, const ConnectorWork& work) {
  constexpr double kNsPerUs = 1000;
  const auto ns = [](Duration d) { return static_cast<double>(d.count()); };
  const auto transfers = [&](std::uint32_t jobs, std::uint32_t copies) {
    return costs.job_us * jobs + costs.copy_us * copies;
  };
  const double before = kNsPerUs * (costs.step_us + costs.lookup_us * work.lookups +
                                    transfers(work.jobs, work.copies));
  const double behind = kNsPerUs * transfers(work.late_jobs, work.late_copies);
  const double longer = (costs.step_factor - 1) * ns(work.compute);
  const double out =
      std::max(0.0, before - ns(work.cover)) + std::max(0.0, behind - ns(work.compute)) + longer;
  return Duration(std::llround(out));
}

}  // namespace spillway
