// A run's result as Chrome's JSON trace events: its series as counters, its slowest requests as
// slices. A run itself tells more: `--output kind=perfetto`.
#pragma once

#include <ostream>

#include "sim/result.hpp"

namespace spillway {

/// The stages of a request are drawn one after another, each with its sum: a result does not tell
/// in which order they came.
void write_perfetto(const RunResult& run, std::ostream& out);

}  // namespace spillway
