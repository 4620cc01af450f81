// The same requests at another rate: what `workload.speed` does to recorded times.
#pragma once

#include "sim/decimal.hpp"
#include "sim/workload.hpp"

namespace spillway {

/// Every recorded time divided by `speed`, down to a nanosecond, as a run does it; pauses between
/// turns stay what they are. Precondition: speed > 0. Throws std::out_of_range where a time does
/// not fit.
Workload at_speed(Workload workload, const Decimal& speed);

}  // namespace spillway
