// What a run says of a signal that a store attached to an engine exports.
#pragma once

#include <optional>

#include "reports/ops/engine_metrics.hpp"
#include "sim/result.hpp"

namespace spillway {

/// A counter's total over the run, of all engines; a gauge's mean over its time. Nothing: the run
/// has no such figure, or no such tier.
std::optional<double> simulated_value(const RunResult& run, const EngineMetric& metric);

}  // namespace spillway
