// The benches of `spillway calibrate`: the one place that knows them all.
#pragma once

#include "scenarios/machine/cell_runner.hpp"
#include "scenarios/machine/gpu_harness.hpp"
#include "scenarios/machine/machine.hpp"
#include "scenarios/machine/redis_bench.hpp"

namespace spillway {

/// `host` must outlive them.
BenchList make_benches(const HostState& host, bool host_only, const GpuHarnessOptions& gpu,
                       const RedisOptions& redis = {});

}  // namespace spillway
