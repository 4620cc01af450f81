// What a run's figures would be if HBM had a tenth more or fewer KV blocks than was estimated.
#pragma once

#include <optional>

#include "sim/note.hpp"
#include "sim/result.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct Scenario;

/// Nothing where the blocks are given or measured, where nothing was evicted for want of them, or
/// where the mean TTFT and the output throughput move by less than the blocks do. Otherwise the
/// note that says so. Makes two more runs, on a thread each.
std::optional<Note> pool_doubt(const Scenario& scenario, const Workload& workload,
                               const RunResult& run);

}  // namespace spillway
