// The workload of a benchmark tool's run.
#pragma once

#include <cstdint>

#include "sim/workload.hpp"
#include "traces/generate/benchmarks/benchmark_tools.hpp"

namespace spillway {

/// `limit`: only the first requests; 0: all. Throws InputError (exit 2) where fault_of() finds
/// something.
Workload benchmark_workload(const BenchmarkConfig& config, std::uint32_t limit = 0);

}  // namespace spillway
