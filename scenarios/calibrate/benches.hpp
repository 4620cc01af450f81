// The benches of `spillway calibrate`: the one place that knows them all.
#pragma once

#include "scenarios/calibrate/cell_runner.hpp"
#include "scenarios/calibrate/gpu_harness.hpp"
#include "scenarios/calibrate/machine.hpp"

namespace spillway {

/// `host` must outlive them.
BenchList make_benches(const HostState& host, bool host_only, const GpuHarnessOptions& gpu);

}  // namespace spillway
