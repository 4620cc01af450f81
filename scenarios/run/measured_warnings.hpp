// Where a measured or given value is not what would have been estimated: by how much, and what
// follows for this workload.
#pragma once

#include <string>
#include <vector>

#include "sim/note.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct Scenario;

/// More than 2% apart: the pool's blocks, the host's part of a step, copy rates, and engine
/// settings that differ from those of the measured run.
Notes measured_warnings(const Scenario& scenario, const Workload& workload);

}  // namespace spillway
