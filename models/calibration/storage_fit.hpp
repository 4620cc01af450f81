// Storage as limits per direction, from reads and writes by block size and queue depth: what
// models/tier takes. An operation waits its latency, then its bytes flow at no more than `slot`;
// all operations in flight share `total`.
#pragma once

#include <string>
#include <vector>

#include "models/calibration/profile.hpp"

namespace spillway {

/// Of one operation (read or write), direct or buffered as the caller chose. Held out: every third
/// block size. Params: total_gbs, slot_gbs, latency_us (fixed part, median), p90_us, p99_us,
/// p999_us (of the fixed part), saturation_depth (of the largest block), iops. The table holds the
/// measured rates over block size and depth.
FitRecord fit_storage(const std::vector<StorageCell>& cells);

/// Sustained writes in the order of `after_bytes`. Params: burst_gbs, sustained_gbs, cache_bytes
/// (written before the rate fell; 0 where it did not).
FitRecord fit_sustained(const std::vector<StorageCell>& cells);

}  // namespace spillway
