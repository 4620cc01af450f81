// Rows of a workload again, for whatever makes a workload from parts of others.
#pragma once

#include <cstdint>
#include <span>

#include "sim/workload.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

/// Puts request `r` into `row` as a reader would have given it: its id, its session and its blocks
/// are the workload's own numbers.
void put_row(const Workload& workload, RequestId r, TraceRow& row);

/// The workload of only these requests, which are in ascending order. What they waited for that is
/// not among them is forgotten; notes and counts of rows are kept.
Workload select_rows(const Workload& workload, std::span<const std::uint32_t> requests);

}  // namespace spillway
